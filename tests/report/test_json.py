"""The report as JSON."""

from __future__ import annotations

import json

from tests.report.reports import json_of, result
from webhook.report.model import Subject


def test_json_report_without_results() -> None:
    written = json.loads(json_of())
    assert (written["results"], written["errors"], written["summary"]["objects"]) == ([], [], 0)


def test_json_keeps_unusual_text() -> None:
    odd = result("allowed", subject=Subject("v1", "Pod", "", 'grün ☃ " \\ \n \x00'))
    written = json_of(odd)
    assert "grün ☃" in written
    assert json.loads(written)["results"][0]["object"]["name"] == 'grün ☃ " \\ \n \x00'
