"""The alerts fire when they must, and only then: the rules that the chart renders, run by promtool."""

from __future__ import annotations

import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import tools
from tests.chart.render import only

pytestmark = pytest.mark.slow

CASES = sorted((Path(__file__).parent / "alerts").glob("*.yaml"))
"""Tests in the format of promtool, one file per alert. The file of rules beside them is written by the tests."""


def promtool(*arguments: str, cwd: Path) -> str:
    """What promtool prints. It fails the test if it finds a problem."""
    done = subprocess.run(
        [tools.promtool(), *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def groups() -> list[dict[str, Any]]:
    """The groups of rules with the default values."""
    rule = only("PrometheusRule", {"metrics": {"prometheusRule": {"enabled": True}}})
    found: list[dict[str, Any]] = deepcopy(rule["spec"]["groups"])  # the manifests are shared
    return found


def rules_of(alert: str) -> str:
    """The rules of an alert alone: promtool evaluates all rules of a file, and a case checks one alert.

    Annotations that are the same for every alert of a name are left out.
    """
    (group,) = groups()
    rules = [rule for rule in group["rules"] if rule["alert"] == alert]
    for rule in rules:
        rule["annotations"] = {key: text for key, text in rule["annotations"].items() if "{{" in text}
    return yaml.safe_dump({"groups": [{**group, "rules": rules}]})


def test_rules_are_valid(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml", cwd=tmp_path)
    assert f"{len(groups()[0]['rules'])} rules found" in checked


def test_every_alert_has_cases_that_fire_and_that_do_not() -> None:
    assert [case.stem for case in CASES] == sorted(rule["alert"] for rule in groups()[0]["rules"])
    for case in CASES:
        checks = [check for test in yaml.safe_load(case.read_text())["tests"] for check in test["alert_rule_test"]]
        assert {check["alertname"] for check in checks} == {case.stem}
        assert {bool(check.get("exp_alerts")) for check in checks} == {True, False}, case.stem


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_alert(case: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(rules_of(case.stem))
    (tmp_path / case.name).write_text(case.read_text())
    assert "SUCCESS" in promtool("test", "rules", case.name, cwd=tmp_path)
