"""Which codes and kinds the hooks leave to policies, by the settings."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.inprocess.decided import decided
from webhook.inprocess.validating import RULES
from webhook.policy.decided import Decided
from webhook.policy.settings.settings import Settings
from webhook.settings.load import load
from webhook.settings.schema_tree import object_of, write

JOB_SET = {"group": "jobset.x-k8s.io", "kind": "JobSet"}


def of(**settings: Any) -> Decided:
    loaded = load(settings, lambda _path: (1, 1), "settings").settings
    return decided(loaded, write(object_of(Settings), loaded))


def test_defaults_leave_every_code_with_a_policy() -> None:
    assert of().codes == {rule.code for rule in RULES}


def test_built_in_kinds_and_presets_are_left() -> None:
    assert of().kinds >= {("", "Pod"), ("apps", "Deployment"), ("batch", "CronJob"), ("jobset.x-k8s.io", "JobSet")}
    assert ("jobset.x-k8s.io", "JobSet") not in of(workloads={"presets": []}).kinds


def test_kind_with_paths_of_settings_stays_with_hooks() -> None:
    path = {**JOB_SET, "path": "spec.extra", "resource": "jobsets", "versions": ["v1alpha2"]}
    assert ("jobset.x-k8s.io", "JobSet") not in of(workloads={"paths": [path]}).kinds


@pytest.mark.parametrize(
    "settings",
    [
        {"suppress": {"annotation": "example.com/ignore"}},
        {"facts": {"nodes": True}},
        {"severities": {"GPS001": "off"}},
        {"namespaces": [{"selector": {"matchLabels": {"a": "b"}}, "mode": "warn"}]},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_code_that_no_policy_can_decide_stays_with_hooks(settings: dict[str, Any]) -> None:
    assert "GPS001" in of().codes
    assert "GPS001" not in of(**settings).codes
