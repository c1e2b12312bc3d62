"""What the hooks leave to policies in the API server, and what they decide themselves nevertheless."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from webhook.policy.context import Origin
from webhook.policy.decided import Decided
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Decision, Severity, Verdict

DECIDED = Decided(frozenset({"GPS001", "GPS004"}), frozenset({("", "Pod"), ("apps", "Deployment")}))
EVERYONE = ("system:authenticated",)
MUTATE = Origin("team", hostpath=True, groups=EVERYONE)
VALIDATE = Origin("team", is_final_hook=True, groups=EVERYONE)
OFFLINE = Origin("team")
GPU = "nvidia.com/gpu"
TWO: dict[str, Any] = {"containers": [{"name": "c", "resources": {"limits": {GPU: 2}}}]}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": TWO}


def workload(group: str, kind: str, spec: dict[str, Any] = TWO) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": kind, "spec": {"template": {"spec": spec}}}


def verdict(
    manifest: dict[str, Any] = POD,
    origin: Origin = MUTATE,
    decided: Decided | None = DECIDED,
    settings: Settings | None = None,
) -> Verdict:
    """The verdict of an evaluator that leaves these decisions to policies."""
    evaluator = Evaluator.of(settings or Settings()).leaving(decided)
    return evaluator.evaluate(manifest, manifest["apiVersion"].rpartition("/")[0], manifest["kind"], origin)


def codes(found: Verdict) -> dict[str, str]:
    return {code: severity.label for code, severity in found.counts}


def test_mutating_hook_leaves_decided_codes_and_still_injects() -> None:
    left, full = verdict(), verdict(decided=None)
    assert (left.decision, full.decision) == (Decision.ALLOWED, Decision.DENIED)
    assert "GPS001" in codes(full)
    assert "GPS001" not in codes(left)
    assert left.injected == full.injected != ()


def test_final_hook_decides_about_denials() -> None:
    assert verdict(origin=VALIDATE).decision is Decision.DENIED


@pytest.mark.parametrize("severity", ["warn", "audit"])
@pytest.mark.parametrize("origin", [MUTATE, VALIDATE])
def test_both_hooks_leave_warnings_and_records(severity: Literal["warn", "audit"], origin: Origin) -> None:
    settings = Settings(severities={"GPS001": severity})
    assert codes(verdict(origin=origin, settings=settings, decided=None))["GPS001"] == severity
    assert "GPS001" not in codes(verdict(origin=origin, settings=settings))


def test_severity_of_namespace_counts() -> None:
    settings = Settings(namespaces=(NamespaceRule(("team",), severities={"GPS001": "warn"}),))
    assert "GPS001" not in codes(verdict(origin=VALIDATE, settings=settings))
    elsewhere = Origin("other", is_final_hook=True, groups=EVERYONE)
    assert codes(verdict(origin=elsewhere, settings=settings))["GPS001"] == "deny"


def test_other_codes_stay() -> None:
    assert "GPS001" in codes(verdict(decided=Decided(frozenset({"GPS002"}), DECIDED.kinds)))


def test_command_line_leaves_nothing() -> None:
    assert verdict(origin=OFFLINE).decision is Decision.DENIED


@pytest.mark.parametrize(
    ("group", "kind", "is_left"),
    [("apps", "Deployment", True), ("apps", "StatefulSet", False), ("batch", "Job", False)],
)
def test_kind_of_object_counts(group: str, kind: str, is_left: bool) -> None:
    settings = Settings(severities={"GPS001": "warn"})
    found = verdict(workload(group, kind), Origin("team", is_final_hook=True, groups=EVERYONE), settings=settings)
    assert ("GPS001" not in codes(found)) is is_left


def test_pod_whose_nodes_are_chosen_later_stays_with_hooks() -> None:
    gated = {**POD, "spec": {**TWO, "schedulingGates": [{"name": "x"}]}}
    assert "GPS001" in codes(verdict(gated))


def test_violation_that_only_warns_stays_with_hooks() -> None:
    reference = {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "$(ELSEWHERE)"}
    spec = {"containers": [{"name": "c", "resources": {"limits": {GPU: 1}}, "env": [reference]}]}
    assert codes(verdict({**POD, "spec": spec}, VALIDATE))["GPS004"] == Severity.WARN.label


def test_ephemeral_containers_stay_with_hooks() -> None:
    every = Decided(frozenset({"GPS007"}), DECIDED.kinds)
    devices = {"name": "debug", "image": "x", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    manifest = {**POD, "spec": {**TWO, "ephemeralContainers": [devices]}}
    added = Origin("team", True, True, frozenset({"debug"}), groups=EVERYONE)
    settings = Settings(severities={"GPS007": "warn"})
    assert "GPS007" not in codes(verdict(manifest, VALIDATE, every, settings))
    assert codes(verdict(manifest, added, every, settings))["GPS007"] == "warn"


@pytest.mark.parametrize("cap", ["warn", "audit"])
def test_capped_mode_gives_codes_back_to_hooks(cap: Any) -> None:
    evaluator = Evaluator.of(Settings()).leaving(DECIDED)
    capped = evaluator.capped(cap)
    assert codes(capped.evaluate(POD, "", "Pod", MUTATE))["GPS001"] == cap
    assert "GPS001" not in codes(capped.capped("enforce").evaluate(POD, "", "Pod", MUTATE))
