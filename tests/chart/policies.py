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
from webhook.inprocess.data import data, expression
from webhook.inprocess.installation import PARAM_KIND, PREFIX, Installation
from webhook.inprocess.kinds import covered
from webhook.inprocess.parameters import parameters
from webhook.inprocess.policies import Policy, policies
from webhook.inprocess.validating import RULES
from webhook.policy.evaluate import Evaluator
from webhook.policy.verdict import Verdict
from webhook.policy.workloads.extracted import Deferral
from webhook.settings.configuration import Configuration, view

Object = dict[str, Any]

_DEFERRED = {deferral.value for deferral in Deferral}


@dataclass(frozen=True)
class Group:
    """Requests under the same settings, with the evaluator of the webhook for them.

    `has_facts`: the evaluator knows facts, and the policies are those of an installation that read parameters.
    """

    configuration: Configuration
    evaluator: Evaluator
    requests: Sequence[Object]
    has_facts: bool = False

    @property
    def policies(self) -> list[Policy]:
        settings, written = self.configuration.settings, view(self.configuration)
        kinds = covered(settings.workloads)
        if not self.has_facts:
            return policies(settings, written, kinds)[0]
        made, _ = policies(settings, {**written, "facts": {"nodes": True}}, kinds, Installation("gpu", "release"))
        dependent = {rule.code for rule in RULES if rule.if_all_share is not None}
        return [one for one in made if one.code in dependent]

    @property
    def data(self) -> Object:
        """The data of the settings."""
        return dict(data(self.configuration.settings))

    @property
    def params(self) -> Object:
        """The object that holds the parameters of the evaluator's facts."""
        held = {PREFIX + key: value for key, value in parameters(self.evaluator.ruleset).items()}
        return {**PARAM_KIND, "metadata": {"name": "release-parameters", "annotations": held}}


@dataclass(frozen=True)
class Compared:
    """The line of a policy for a request, and the line of the webhook for the same code and severity; "" for none.

    `lines`: those of all findings of the code and severity. `cost` is what the expressions cost, `seconds` the
    processor time of all. `deferred`: the nodes of a pod are chosen later, so that the policy may leave it to the
    webhook.
    """

    request: Object
    policy: Policy
    got: str
    lines: Sequence[str]
    cost: int
    seconds: float
    deferred: bool

    @property
    def wanted(self) -> str:
        return self.lines[0] if self.lines else ""

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
            "policies": [_spec_of(one, group.data if data_from_params else {}) for one in held],
            "params": group.params | (group.data if data_from_params else {}),
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


def _spec_of(policy: Policy, data: Object) -> Object:
    """The policy, which takes these data from its parameter in place of literals."""
    made = policy.objects("test")[0]
    if not data:
        return made
    variables = [
        one | {"expression": one["expression"].replace(expression(data[one["name"]]), f"params.{one['name']}")}
        if one["name"] in data
        else one
        for one in made["spec"]["variables"]
    ]
    return {**made, "spec": {**made["spec"], "paramKind": PARAM_KIND, "variables": variables}}


def _compared(group: Group, held: Sequence[Policy], request: Object, answer: Object) -> list[Compared]:
    """The webhook gets the objects as the API server holds them: its quantities have their canonical form."""
    received = {**request, "object": answer["object"], "oldObject": answer["oldObject"]}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": received}
    verdict = respond(json.dumps(review).encode(), Hook.VALIDATE, group.evaluator).verdict
    return [
        Compared(
            request,
            policy,
            got["message"],
            _lines(verdict, policy),
            got["cost"],
            got["seconds"],
            verdict.reason in _DEFERRED,
        )
        for policy, got in zip(held, answer["verdicts"], strict=True)
    ]


def _lines(verdict: Verdict, policy: Policy) -> list[str]:
    """The webhook's lines for the findings of a code and severity."""
    return [line(one) for one in verdict.findings if one.code == policy.code and one.severity is policy.severity]
