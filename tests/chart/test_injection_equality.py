"""The policies of the API server change pods as the webhook does, evaluated by the API server's own code."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from random import Random
from typing import Any

import jsonpatch

from tests.chart import tools
from tests.chart.matching import request
from tests.cluster.policies.generated import varied
from webhook.admission import Hook, respond
from webhook.inprocess.installation import PARAM_KIND, PREFIX, Installation
from webhook.inprocess.mutating import mutating
from webhook.inprocess.parameters import parameters
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import RuntimeClass
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.rules import ENFORCE_LABEL
from webhook.settings.configuration import view
from webhook.settings.load import load

Object = dict[str, Any]

SETTINGS: tuple[tuple[Object, Facts], ...] = (
    ({}, UNKNOWN),
    (
        {
            "resources": [{"name": "nvidia.com/gpu"}, {"name": "nvidia.com/gpu.shared", "renamed": True}],
            "exempt": {"annotation": "team=a"},
            "injections": {
                "pipeDirectory": {"perResource": False},
                "pipeMount": {"type": "", "readOnly": True, "safeToEvict": False},
                "tolerations": {"add": [{"key": "dedicated", "operator": "Equal", "value": "gpu"}]},
                "annotate": False,
            },
        },
        UNKNOWN,
    ),
    (
        {"facts": {"nodes": True, "runtimeClasses": True}},
        Facts(nodes=(), runtime_classes=(RuntimeClass("nvidia", "nvidia", {"zone": "a"}),)),
    ),
)
"""Bodies of settings files, and what the webhook knows under them."""

LEVELS = {Hook.MUTATE: {ENFORCE_LABEL: "privileged"}, Hook.MUTATE_WITHOUT_HOSTPATH: {ENFORCE_LABEL: "baseline"}}
"""The labels of namespaces whose pods a hook gets."""

PODS = 100
"""Pods for each of the settings and of these hooks."""


def _evaluator(body: Object, facts: Facts) -> tuple[Evaluator, list[Object]]:
    """The webhook's evaluator, and the policies of an installation."""
    file = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "denyInMutate": False, **body}
    configuration = load(file, lambda _path: (1, 1), "settings")
    made, left = mutating(configuration.settings, view(configuration), Installation("gpu", "release"))
    assert left == []
    return Evaluator.of(configuration.settings, facts), [one.objects("release")[0] for one in made]


def _group(evaluator: Evaluator, policies: list[Object], hook: Hook, random: Random) -> Object:
    held = {PREFIX + key: value for key, value in parameters(evaluator.ruleset).items()}
    creating = [one for one in policies if one["metadata"]["name"].endswith("-injections")]
    return {
        "policies": creating,
        "params": PARAM_KIND | {"metadata": {"name": "release-parameters", "annotations": held}},
        "labels": LEVELS[hook],
        "requests": [request(varied(random, f"pod-{number}")) for number in range(PODS)],
    }


def _changed_by_webhook(evaluator: Evaluator, hook: Hook, asked: Object, sent: Object) -> Object:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked | {"object": sent}}
    response = json.loads(respond(json.dumps(review).encode(), hook, evaluator).body())["response"]
    assert response["allowed"], response
    operations = json.loads(base64.b64decode(response.get("patch", "W10=")))
    changed: Object = jsonpatch.apply_patch(sent, operations)
    return changed


def test_policies_change_pods_as_webhook() -> None:
    random = Random(33)  # noqa: S311 - reproducible pods, no secrets
    asked = []
    for body, facts in SETTINGS:
        evaluator, policies = _evaluator(body, facts)
        asked += [(evaluator, hook, _group(evaluator, policies, hook, random)) for hook in LEVELS]
    done = subprocess.run(
        [tools.injections()],
        input=json.dumps([group for _, _, group in asked]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wrong, seen = [], Counter[str]()
    for (evaluator, hook, group), answers in zip(asked, json.loads(done.stdout), strict=True):
        for one, answer in zip(group["requests"], answers, strict=True):
            expected = _changed_by_webhook(evaluator, hook, one, answer["object"])
            if answer["changed"] != expected:
                wrong.append(f"{list(jsonpatch.make_patch(expected, answer['changed']))}: {one['object']}")
            seen[hook.name if expected != answer["object"] else "unchanged"] += 1
    assert wrong == []
    assert min(seen.values()) >= PODS / 2, seen
    assert len(seen) == len(LEVELS) + 1
