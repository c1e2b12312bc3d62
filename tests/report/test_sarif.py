"""The SARIF report follows its schema and says where each finding is."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.run import run
from tests.report.golden import INPUTS, folder
from tests.report.reports import DENIAL, MISSING, NOTE, UNREADABLE, WARNING, result, written
from webhook.policy.checks import CHECKS
from webhook.report.check.sarif import SarifWriter
from webhook.report.fingerprint import Fingerprints
from webhook.report.model import Entry
from webhook.report.writer import SourceTree

# The schema of OASIS, unchanged: oasis-tcs/sarif-spec, sarif-2.1/schema/sarif-schema-2.1.0.json at e058381.
SCHEMA = Path(__file__).parent / "sarif" / "schema.json"


@cache
def validator() -> Any:
    schema = json.loads(SCHEMA.read_bytes())
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)


def validate(log: Any) -> None:
    """Validate a log of one run. A tool, whose rules make up most of a log, is validated once for all logs with it."""
    (run_of_log,) = log["runs"]
    _validate_tool(json.dumps(run_of_log["tool"]))
    validator().validate({**log, "runs": [{**run_of_log, "tool": {"driver": {"name": "validated"}}}]})


@cache
def _validate_tool(tool: str) -> None:
    validator().validate({"version": "2.1.0", "runs": [{"tool": json.loads(tool)}]})


def log_of(*entries: Entry, tree: SourceTree | None = None) -> Any:
    """Return the run of a valid report about entries."""
    writer = SarifWriter(SourceTree()) if tree is None else SarifWriter(tree)
    log = json.loads(written(writer, entries))
    validator().validate(log)
    (run_of_log,) = log["runs"]
    return run_of_log


def test_schema_rejects_wrong_report() -> None:
    log = json.loads(written(SarifWriter(SourceTree()), [result("denied", DENIAL)]))
    log["runs"][0]["results"][0]["level"] = "deny"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(log)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [result("allowed")],
        [result("denied", DENIAL, WARNING, NOTE)],
        [MISSING, UNREADABLE],
        [result("denied", DENIAL), UNREADABLE, result("warned", WARNING)],
    ],
)
def test_report_follows_schema(entries: list[Entry]) -> None:
    found = log_of(*entries)
    findings = [located for entry in entries if hasattr(entry, "findings") for located in entry.findings]
    assert [one["ruleId"] for one in found["results"]] == [located.code for located in findings]


def test_report_of_run_follows_schema() -> None:
    with folder():
        log = json.loads(run("check", *(f"./{name}" for name in INPUTS), "-o", "sarif").out)
    validator().validate(log)
    assert len(log["runs"][0]["results"]) > 5


def test_rules_describe_every_check() -> None:
    rules = log_of()["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.code for check in CHECKS]
    for rule, check in zip(rules, CHECKS, strict=True):
        assert rule["shortDescription"]["text"] == f"{check.title}."
        assert "## Remedy\n" in rule["help"]["text"]
        assert rule["help"]["markdown"] == rule["help"]["text"]
        assert "](." not in rule["help"]["markdown"], "a link that leads nowhere"
    assert {rule["defaultConfiguration"]["level"] for rule in rules} == {"error", "warning", "note"}


def test_result_has_level_place_and_fingerprint() -> None:
    located = replace(DENIAL, column=6, length=2)
    checked = result("denied", located)
    (found,) = log_of(checked)["results"]
    assert (found["ruleId"], found["ruleIndex"], found["level"]) == ("GPS001", 0, "error")
    assert found["message"]["text"] == "too many (Pod team-a/train); ask for 1"
    (location,) = found["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7, "startColumn": 6, "endColumn": 8},
    }
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "v1/Pod/team-a/train#/spec"
    assert found["partialFingerprints"] == {"gpushareWebhook/v1": next(Fingerprints().of(checked))}


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("a b%.yaml", {"uri": "sub/a%20b%25.yaml", "uriBaseId": "%SRCROOT%"}),
        ("./x/../é:?#.yaml", {"uri": "sub/%C3%A9%3A%3F%23.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/repo/other/a.yaml", {"uri": "other/a.yaml", "uriBaseId": "%SRCROOT%"}),
        ("../a.yaml", {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/elsewhere/a.yaml", {"uri": "file:///elsewhere/a.yaml"}),
        ("<stdin>", {"uri": "%3Cstdin%3E", "uriBaseId": "%SRCROOT%"}),
        ("a\x1b\n.yaml", {"uri": "sub/a%1B%0A.yaml", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_artifact_is_relative_to_repository(file: str, artifact: dict[str, str]) -> None:
    tree = SourceTree("/repo", "/repo/sub")
    (found,) = log_of(result("denied", DENIAL)._replace(file=file), tree=tree)["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


def test_text_of_users_becomes_no_link() -> None:
    finding = replace(DENIAL, message='container "[here](http://example.com)" asks')
    (found,) = log_of(result("denied", finding))["results"]
    assert "](" not in found["message"]["text"]


def test_errors_are_notifications() -> None:
    (invocation,) = log_of(result("allowed"), UNREADABLE, MISSING)["invocations"]
    assert invocation["executionSuccessful"] is False
    first, second = invocation["toolExecutionNotifications"]
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 5}
    assert second["message"]["text"] == "no such file or folder"
    assert log_of(result("denied", DENIAL))["invocations"][0]["executionSuccessful"] is True


def test_results_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.report.check.sarif.MOST_RESULTS", 3)
    found = log_of(*[result("denied", DENIAL, WARNING)] * 3)
    assert len(found["results"]) == 3
    (notification,) = found["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("3 findings are left out: ")
    assert found["invocations"][0]["executionSuccessful"] is True


def test_compressed_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.report.check.sarif.MOST_BYTES", 100_000)
    found = log_of(*[result("denied", DENIAL)] * 20_000)
    assert 100 < len(found["results"]) < 19_000
    assert found["invocations"][0]["toolExecutionNotifications"][0]["level"] == "warning"


def test_number_of_notifications_is_limited() -> None:
    (invocation,) = log_of(*[UNREADABLE] * 1500)["invocations"]
    assert len(invocation["toolExecutionNotifications"]) == 1001
    assert invocation["toolExecutionNotifications"][-1]["message"]["text"] == "500 more errors are left out"
