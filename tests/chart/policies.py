"""What the API server's own code makes of the policies for settings, beside the verdict of the webhook."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.chart import tools
from webhook.admission import Hook, respond
from webhook.admission.respond import line
from webhook.inprocess.data import NAMES, data
from webhook.inprocess.kinds import covered
from webhook.inprocess.policies import Policy, policies
from webhook.policy.evaluate import Evaluator
from webhook.policy.verdict import Verdict
from webhook.policy.workloads.extracted import Deferral
from webhook.settings.configuration import Configuration, view

Object = dict[str, Any]

_DEFERRED = {deferral.value for deferral in Deferral}


@dataclass(frozen=True)
class Group:
    """Requests under the same settings, with the evaluator of the webhook for them."""

    configuration: Configuration
    evaluator: Evaluator
    requests: Sequence[Object]

    @property
    def policies(self) -> list[Policy]:
        settings = self.configuration.settings
        return policies(settings, view(self.configuration), covered(settings.workloads))[0]


@dataclass(frozen=True)
class Compared:
    """The line of a policy for a request, and the line of the webhook for the same code and severity; "" for none.

    `cost` is what the expressions cost. `deferred`: the nodes of a pod are chosen later, so that the policy may leave
    it to the webhook.
    """

    request: Object
    policy: Policy
    got: str
    wanted: str
    cost: int
    deferred: bool

    @property
    def agrees(self) -> bool:
        return self.got == self.wanted or (self.deferred and self.got == "")


def compared(groups: Sequence[Group], *, data_from_params: bool = False) -> list[Compared]:
    """The comparison of each request with each policy of its group, without the requests that no API server reads.

    `data_from_params`: the data of the settings comes from a parameter in place of literals. To compile the expressions
    takes half a second for each policy, and so they are the same under all settings.
    """
    made = [group.policies for group in groups]
    sent = [
        {
            "policies": [_spec_of(one, data_from_params) for one in held],
            "params": {**_ANY_KIND, **data(group.configuration.settings)} if data_from_params else None,
            "requests": list(group.requests),
        }
        for group, held in zip(groups, made, strict=True)
    ]
    done = subprocess.run(
        [tools.policies()], input=json.dumps(sent), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return [
        one
        for group, held, answers in zip(groups, made, json.loads(done.stdout), strict=True)
        for request, answer in zip(group.requests, answers, strict=True)
        if answer is not None and held
        for one in _compared(group, held, request, answer)
    ]


def _spec_of(policy: Policy, data_from_params: bool) -> Object:
    made = policy.objects("test")[0]
    if not data_from_params:
        return made
    variables = [
        one | {"expression": f"params.{one['name']}"} if one["name"] in NAMES else one
        for one in made["spec"]["variables"]
    ]
    return {**made, "spec": {**made["spec"], "paramKind": _ANY_KIND, "variables": variables}}


_ANY_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


def _compared(group: Group, held: Sequence[Policy], request: Object, answer: Object) -> list[Compared]:
    """The webhook gets the objects as the API server holds them: its quantities have their canonical form."""
    received = {**request, "object": answer["object"], "oldObject": answer["oldObject"]}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": received}
    verdict = respond(json.dumps(review).encode(), Hook.VALIDATE, group.evaluator).verdict
    return [
        Compared(request, policy, got["message"], _line(verdict, policy), got["cost"], verdict.reason in _DEFERRED)
        for policy, got in zip(held, answer["verdicts"], strict=True)
    ]


def _line(verdict: Verdict, policy: Policy) -> str:
    """The webhook's line for the first finding of a code and severity."""
    found = [one for one in verdict.findings if one.code == policy.code and one.severity is policy.severity]
    return line(found[0]) if found else ""
