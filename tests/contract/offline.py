"""The verdicts of the command line about fixtures, and the fixtures on which it rightly differs from a hook."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import run
from tests.contract.answers import Answered, by_check
from tests.fixture import HOOKS, Fixture, Json, load_all, review

ENFORCE = "pod-security.kubernetes.io/enforce"
MIRROR = "kubernetes.io/config.mirror"

NOT_AN_UPDATE = "the command line checks a new object, the hook an update"
ONLY_REPORTED = "the hook warns of injections that it only reports, the command line lists findings"

NOT_SEARCHED = (
    "workloads/another-group",
    "workloads/llm-d-model-service",
    "workloads/llmkube-inference-service",
    "workloads/ome-predictor",
    "workloads/vllm-runtime",
    "GPS001/ephemeral-containers-count-nothing",
    "GPS023/accelerator-profile",
    "GPS023/amount-beside-name",
    "GPS023/audit-mode",
    "GPS023/bare-amount-beside-quota",
    "GPS023/bare-amount-in-container",
    "GPS023/bare-amount-outside-the-paths-of-a-preset",
    "GPS023/bare-amounts-of-unknown-kind",
    "GPS023/bare-placeholder-of-unknown-kind",
    "GPS023/built-in-kind-in-core-group",
    "GPS023/containers-below-toleration",
    "GPS023/denied",
    "GPS023/embedded-manifest",
    "GPS023/fragment",
    "GPS023/generating-policy",
    "GPS023/hardware-profile",
    "GPS023/indented-too-deep",
    "GPS023/job-in-app-wrapper",
    "GPS023/job-template-left-out",
    "GPS023/kind-in-retired-group",
    "GPS023/level-missing-in-preset-kind",
    "GPS023/list-of-amounts",
    "GPS023/mig-of-unknown-kind",
    "GPS023/misspelt-containers",
    "GPS023/misspelt-limits",
    "GPS023/mutating-admission-policy",
    "GPS023/mutating-policy",
    "GPS023/objects-in-manifest-work",
    "GPS023/outside-the-paths-of-a-preset",
    "GPS023/patch-of-kustomization",
    "GPS023/patch-that-removes-an-amount",
    "GPS023/placeholder-as-group",
    "GPS023/placeholder-as-kind",
    "GPS023/placeholder-in-unknown-kind",
    "GPS023/pod-fields-below-spec-of-deployment",
    "GPS023/pod-spec-patch-of-workflow",
    "GPS023/pods-of-an-older-version",
    "GPS023/pods-of-unknown-kind",
    "GPS023/preset-left-out",
    "GPS023/range-of-amounts",
    "GPS023/resources-of-unknown-kind",
    "GPS023/structure-of-another-thing",
    "GPS023/typo-of-built-in-kind",
    "GPS023/typo-of-preset-kind",
    "GPS023/unknown-field-of-built-in-kind",
    "GPS023/values-of-application",
    "GPS023/values-of-helm-release",
    "GPS023/values-of-jupyterhub",
)
"""The fixtures of which the hooks see nothing wrong: only the command line searches objects."""

LIMITS_OF_NAMESPACES = tuple(one.name for one in load_all() if one.folder == "GPS032" and one.expect.findings)
"""ResourceQuotas and LimitRanges, which only the command line checks."""

OF_CONFIGURATIONS = ("GPS030", "GPS031", "GPS033")
"""The checks of configurations of the device plugin, and of what names them."""

CONFIGURATIONS = tuple(one.name for one in load_all() if one.folder in OF_CONFIGURATIONS and one.expect.findings)
"""Configurations of the device plugin, and what names them."""

CONFIG_MAPS = ("GPS023/manifest-in-config-map", "GPS023/bare-amount-of-config-map")
"""Fixtures with a ConfigMap of another program, which the chart's rules do not send."""

DIFFER = {
    **dict.fromkeys(NOT_SEARCHED, "the command line searches the object, the hook reads the paths of its kind"),
    **dict.fromkeys((*LIMITS_OF_NAMESPACES, *CONFIGURATIONS), "no hook receives the object"),
    **dict.fromkeys(CONFIG_MAPS, "the hook takes each ConfigMap that it receives for one of the device plugin"),
    "GPS012/hook-with-hostpath": "the API server called the path for namespaces that allow hostPath, against the facts",
    "left-alone/mirror-pod-of-a-user": "the command line does not know that the caller is not a node",
    "severities/denied-outside-mutate": "with denyInMutate off only the final hook denies, the command line always",
    "modes/namespace-reports": ONLY_REPORTED,
    "modes/report": ONLY_REPORTED,
    "steering/final-hook-unsteered": "the final hook checks the pod as it is, the command line steers",
    "steering/ungated-unsteered": "a pod that lost its gates cannot be steered, a new one can",
    "GPS001/queued-pod-without-gate": "a queue gates a pod before the final hook, the command line cannot know",
    "GPS001/one-of-two-gates-removed": NOT_AN_UPDATE,
    "GPS001/update-without-a-gate-before": NOT_AN_UPDATE,
    "GPS007/ephemeral-container-alone-is-checked": NOT_AN_UPDATE,
    "GPS007/class-of-a-pod-that-gets-a-debugger": NOT_AN_UPDATE,
    "GPS007/ephemeral-container-was-there": NOT_AN_UPDATE,
    "GPS007/ephemeral-container-mounts-a-device": NOT_AN_UPDATE,
    "GPS019/update": NOT_AN_UPDATE,
    "tolerations/kept-on-update": NOT_AN_UPDATE,
    "tolerations/never-ours-on-update": NOT_AN_UPDATE,
    "tolerations/restored-from-nothing": NOT_AN_UPDATE,
    "tolerations/restored-on-update": NOT_AN_UPDATE,
    "workloads/update-beside-the-containers": "the hook checks an update only if it changes the containers",
    "workloads/update-beside-the-template": "the hook checks an update only if it changes the template",
    "workloads/update-beside-the-pod-spec": "the hook checks an update only if it changes the pod spec",
    "workloads/update-of-one-role": "the hook checks an update only where it changes a template",
}
"""The fixtures on which the two rightly differ, because the command line does not know the request, and why."""


def review_of(fixture: Fixture) -> Json:
    """The review of a fixture. Only nodes create mirror pods, which the command line assumes."""
    asked = review(fixture)
    annotations = (fixture.object.get("metadata") or {}).get("annotations") or {}
    if fixture.hook == "offline" and MIRROR in annotations:
        asked["request"]["userInfo"]["groups"].append("system:nodes")
    return asked


def level_of(fixture: Fixture) -> str:
    """The Pod Security level of the namespace, as far as the fixture knows it."""
    unlabelled = (fixture.settings or {}).get("podSecurity", {}).get("unlabelled", "privileged")
    known = (fixture.facts or {}).get("namespaces") or ()
    labels: dict[str, str] = next((one.get("labels", {}) for one in known if one["name"] == fixture.namespace), {})
    return labels.get(ENFORCE, str(unlabelled))


def path_of(fixture: Fixture) -> str:
    """The hook that a cluster calls for an object: the chart selects by kind and by the namespace's label."""
    hook = HOOKS[fixture.hook]
    if hook is not None:
        return hook.path
    if not fixture.is_pod:
        return "/validate"
    return "/mutate" if level_of(fixture) == "privileged" else "/mutate/without-hostpath"


def facts_of(fixture: Fixture) -> Json | None:
    """The facts for the command line, with the namespace's label in place of the hook's path."""
    if fixture.hook != "mutate-without-hostpath":
        return fixture.facts
    facts = fixture.facts or {"apiVersion": "gpushare-webhook/v1", "kind": "Facts"}
    labelled = {"name": fixture.namespace, "labels": {ENFORCE: "baseline"}}
    return {**facts, "namespaces": [*facts.get("namespaces", []), labelled]}


def check(folder: Path, manifest: Json, namespace: str, settings: Json | None, facts: Json | None) -> Answered:
    """The command line's verdict about an object, with the settings of the server: without a file, its defaults."""
    options: list[object] = ["-n", namespace]
    if settings is None:
        options += ["--profile", "device-plugin"]
    for name, option, content in (
        ("object", "-f", manifest),
        ("settings", "--config", settings),
        ("facts", "--facts", facts),
    ):
        if content is not None:
            file = folder / f"{name}.json"
            file.write_text(json.dumps(content))
            options += [option, file]
    ended = run("check", "-o", "json", *options)
    assert ended.err == ""
    return by_check(ended.json())
