"""The policies of the API server change pods as the webhook does, evaluated by the API server's own code."""

from __future__ import annotations

import base64
import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import jsonpatch

from tests.chart import tools
from tests.chart.generated_objects import generated_facts
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


def _group(evaluator: Evaluator, policies: list[Object], hook: Hook, random: Random, pods: int) -> Object:
    held = {PREFIX + key: value for key, value in parameters(evaluator.ruleset).items()}
    creating = [one for one in policies if one["metadata"]["name"].endswith("-injections")]
    return {
        "policies": creating,
        "params": PARAM_KIND | {"metadata": {"name": "release-parameters", "annotations": held}},
        "labels": LEVELS[hook],
        "requests": [request(varied(random, f"pod-{number}")) for number in range(pods)],
    }


def _changed_by_webhook(evaluator: Evaluator, hook: Hook, asked: Object, sent: Object) -> Object:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked | {"object": sent}}
    response = json.loads(respond(json.dumps(review).encode(), hook, evaluator).body())["response"]
    assert response["allowed"], response
    operations = json.loads(base64.b64decode(response.get("patch", "W10=")))
    changed: Object = jsonpatch.apply_patch(sent, operations)
    return changed


def changed_by_policies(groups: Sequence[Object]) -> list[list[Object]]:
    """Each pod of each group as received, and as its policies change it. An expression that fails fails the test."""
    done = subprocess.run(
        [tools.injections()],
        input=json.dumps(groups),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[list[Object]] = json.loads(done.stdout)
    return answers


def test_policies_change_pods_as_webhook() -> None:
    random = Random(33)  # noqa: S311 - reproducible pods, no secrets
    asked = []
    for body, facts in SETTINGS:
        evaluator, policies = _evaluator(body, facts)
        asked += [(evaluator, hook, _group(evaluator, policies, hook, random, PODS)) for hook in LEVELS]
    wrong, seen = [], Counter[str]()
    for (evaluator, hook, group), answers in zip(
        asked, changed_by_policies([group for _, _, group in asked]), strict=True
    ):
        for one, answer in zip(group["requests"], answers, strict=True):
            expected = _changed_by_webhook(evaluator, hook, one, answer["object"])
            if answer["changed"] != expected:
                wrong.append(f"{list(jsonpatch.make_patch(expected, answer['changed']))}: {one['object']}")
            seen[hook.name if expected != answer["object"] else "unchanged"] += 1
    assert wrong == []
    assert min(seen.values()) >= PODS / 2, seen
    assert len(seen) == len(LEVELS) + 1


WITH_FACTS: Object = {
    "facts": {"nodes": True, "devicePlugin": "gpus/configuration", "runtimeClasses": True},
    "injections": {"tolerations": {"fromNodes": ["*"]}},
}
CLUSTERS, PER_CLUSTER = 30, 10
TAINT = "gpu"
"""The key of the taint of generated nodes."""

CLASSES = (None, (), (RuntimeClass("nvidia", "nvidia", {"zone": "a"}),))


def test_webhook_completes_pods_that_policies_changed_by_facts() -> None:
    """Whatever the facts are, the object of both is that of the webhook alone: policies inject nothing else.

    They tolerate the taint that all GPU nodes have also for pods that no known node takes.
    """
    random = Random(34)  # noqa: S311 - reproducible pods, no secrets
    asked = []
    for _ in range(CLUSTERS):
        facts = replace(generated_facts(random), runtime_classes=random.choice(CLASSES))
        evaluator, policies = _evaluator(WITH_FACTS, facts)
        asked.append((evaluator, Hook.MUTATE, _group(evaluator, policies, Hook.MUTATE, random, PER_CLUSTER)))
    wrong, seen = [], Counter[str]()
    for (evaluator, hook, group), answers in zip(
        asked, changed_by_policies([group for _, _, group in asked]), strict=True
    ):
        for one, answer in zip(group["requests"], answers, strict=True):
            alone = _changed_by_webhook(evaluator, hook, one, answer["object"])
            both = _changed_by_webhook(evaluator, hook, one, answer["changed"])
            if _compared(alone) != _compared(both):
                wrong.append(f"{list(jsonpatch.make_patch(alone, both))}: {one['object']} {evaluator.ruleset.facts}")
            is_completed = answer["changed"] not in (answer["object"], both)
            seen[
                "completed" if is_completed else "policies" if answer["changed"] != answer["object"] else "neither"
            ] += 1
    assert wrong == []
    assert min(seen["completed"], seen["policies"]) >= CLUSTERS / 2, seen


def _compared(pod: Object) -> Any:
    """A pod without the toleration of the taint of nodes, and without any order of lists and of injected names."""
    spec, annotations = pod["spec"], pod["metadata"].get("annotations", {})
    injected = set(annotations.get("gpushare-webhook/injected", "").split(",")) - {"tolerations", ""}
    tolerations = [one for one in spec.get("tolerations", []) if one.get("key") != TAINT]
    others = {key: value for key, value in annotations.items() if key != "gpushare-webhook/injected"}
    return sorted(injected), others, _unordered({**spec, "tolerations": tolerations})


def _unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unordered(held) for key, held in value.items()}
    return sorted(map(_unordered, value), key=str) if isinstance(value, list) else value
