"""The report as JSON."""

from __future__ import annotations

import json

from tests.report.reports import DENIAL, PATCH, UNREADABLE, WARNING, json_of, result
from webhook.report.model import Subject


def test_json_report() -> None:
    checked = result("allowed", WARNING)._replace(patch=(PATCH,))
    written = json.loads(json_of(checked, UNREADABLE))
    assert list(written) == ["apiVersion", "kind", "results", "errors", "summary"]
    assert written["results"] == [
        {
            "file": "a.yaml",
            "document": 2,
            "line": 5,
            "object": {"apiVersion": "v1", "kind": "Pod", "namespace": "team-a", "name": "train"},
            "decision": "allowed",
            "findings": [
                {
                    "code": "GPS005",
                    "severity": "warn",
                    "path": "",
                    "line": 1,
                    "column": 1,
                    "message": "hides it",
                    "remedy": "leave it out",
                }
            ],
            "patch": [PATCH],
        }
    ]
    assert written["errors"] == [{"file": "b.yaml", "line": 3, "column": 5, "message": "not YAML"}]


def test_json_report_without_results() -> None:
    written = json.loads(json_of())
    assert (written["results"], written["errors"], written["summary"]["objects"]) == ([], [], 0)


def test_json_keeps_unusual_text() -> None:
    odd = result("allowed", subject=Subject("v1", "Pod", "", 'grün ☃ " \\ \n \x00'))
    written = json_of(odd)
    assert "grün ☃" in written
    assert json.loads(written)["results"][0]["object"]["name"] == 'grün ☃ " \\ \n \x00'


def test_omitted_findings_are_counted_by_code() -> None:
    cut = result("denied", DENIAL)._replace(omitted={"GPS001": 1, "GPS005": 40})
    (written,) = json.loads(json_of(cut))["results"]
    assert written["omitted"] == {"GPS001": 1, "GPS005": 40}
