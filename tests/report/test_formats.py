"""The formats of a report: text for people, optionally in colour, and JSON for machines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.report.reports import DENIAL, MISSING, NOTE, PATCH, UNREADABLE, WARNING, json_of, result, text_of
from webhook.diagnostics import Diagnostic
from webhook.report import Result, Subject


def marked(text: str, colour: str) -> str:
    return f"<{colour}>{text}</>"


def test_text_lists_finding_object_and_remedy() -> None:
    written = text_of(result("denied", DENIAL, WARNING))
    assert written.splitlines() == [
        "a.yaml:7:3: deny GPS001 too many",
        "    Pod team-a/train at /spec",
        "    remedy: ask for 1",
        "a.yaml:1:1: warn GPS005 hides it",
        "    Pod team-a/train at /",
        "    remedy: leave it out",
        "",
        "1 object: 1 denied",
    ]
    assert written.endswith("\n")


def test_text_colours_severities() -> None:
    written = text_of(result("denied", DENIAL, WARNING, NOTE), paint=marked)
    assert [word for word in ("<red>deny</>", "<yellow>warn</>", "<blue>audit</>") if word in written] == [
        "<red>deny</>",
        "<yellow>warn</>",
        "<blue>audit</>",
    ]


@pytest.mark.parametrize(
    ("parts", "summary"),
    [
        ([], "0 objects: nothing to check"),
        ([result("allowed")], "1 object: 1 allowed"),
        ([result("allowed"), result("skipped"), result("warned")], "3 objects: 1 allowed, 1 warned, 1 skipped"),
        ([MISSING], "0 objects: nothing to check; 1 input could not be read"),
        ([result("denied"), MISSING, UNREADABLE], "1 object: 1 denied; 2 inputs could not be read"),
    ],
)
def test_text_summary_line(parts: list[Result | Diagnostic], summary: str) -> None:
    assert text_of(*parts).splitlines()[-1] == summary


def test_text_counts_skipped_objects_by_reason() -> None:
    reasons = ["skipped: it runs no pods", "skipped: it requests no GPU resource", "skipped: it runs no pods"]
    skipped = [replace(result("skipped"), reason=reason) for reason in reasons]
    assert text_of(*skipped, result("allowed")).splitlines() == [
        "2 objects skipped: it runs no pods",
        "1 object skipped: it requests no GPU resource",
        "4 objects: 1 allowed, 3 skipped",
    ]


def test_text_counts_objects_with_unchecked_places() -> None:
    unchecked = replace(WARNING, finding=replace(WARNING.finding, code="GPS023"))
    twice = result("warned", unchecked, unchecked)
    written = text_of(twice, twice, result("warned", WARNING))
    assert written.splitlines()[-2:] == [
        "2 objects with a GPU resource that the webhook does not check (GPS023)",
        "3 objects: 3 warned",
    ]


def test_text_gives_reason_of_object_that_is_not_skipped() -> None:
    searched = replace(result("allowed"), reason="unknown kind: found")
    assert text_of(searched).splitlines() == [
        "a.yaml:5: Pod team-a/train: unknown kind: found",
        "",
        "1 object: 1 allowed",
    ]


def test_json_report() -> None:
    checked = replace(result("allowed", WARNING), patch=(PATCH,))
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
    cut = replace(result("denied", DENIAL), omitted={"GPS001": 1, "GPS005": 40})
    assert text_of(cut).splitlines()[3:5] == [
        f"a.yaml:{cut.line}: and 1 more finding of GPS001",
        f"a.yaml:{cut.line}: and 40 more findings of GPS005",
    ]
    (written,) = json.loads(json_of(cut))["results"]
    assert written["omitted"] == {"GPS001": 1, "GPS005": 40}


def test_every_line_about_a_file_has_its_whole_path() -> None:
    file = "/".join(["folder" * 20] * 10)
    cut = replace(result("denied", DENIAL), file=file, omitted={"GPS001": 1})
    found, _, _, more = text_of(cut).splitlines()[:4]
    assert found.startswith(f"{file}:7:3: deny GPS001")
    assert more == f"{file}:{cut.line}: and 1 more finding of GPS001"
