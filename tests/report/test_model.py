"""Reports: summary, exit code, and the text of objects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.reports import DENIAL, MISSING, NOTE, PLAIN, UNREADABLE, WARNING, result, tally, written
from webhook.diagnostics import Diagnostic
from webhook.report.check import CheckFormat
from webhook.report.model import Result, Subject
from webhook.report.tally import FailOn


def test_summary_counts_each_object_once() -> None:
    checked = [result("allowed"), result("allowed", NOTE), result("warned", WARNING), result("skipped")]
    assert tally(*checked, UNREADABLE).summary() == {
        "objects": 4,
        "allowed": 2,
        "warned": 1,
        "denied": 0,
        "skipped": 1,
        "errors": 1,
    }


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        ([], (0, 0, 0, 0, 0)),
        ([result("allowed"), result("skipped")], (0, 0, 0, 1, 0)),
        ([result("allowed", NOTE)], (0, 0, 0, 0, 0)),
        ([result("allowed"), result("warned", WARNING)], (0, 1, 1, 1, 0)),
        ([result("denied", DENIAL), result("allowed")], (1, 1, 1, 1, 0)),
        ([UNREADABLE], (2, 2, 2, 2, 2)),
        ([result("denied", DENIAL), MISSING, result("allowed")], (2, 2, 2, 2, 2)),
    ],
)
def test_highest_exit_code_wins(parts: list[Result | Diagnostic], codes: tuple[int, ...]) -> None:
    assert tuple(tally(*parts).exit_code(one) for one in FailOn) == codes


@pytest.mark.parametrize(("namespace", "name", "text"), [("a", "b", "Pod a/b"), ("", "b", "Pod b"), ("", "", "Pod")])
def test_subject_text(namespace: str, name: str, text: str) -> None:
    assert str(Subject("v1", "Pod", namespace, name)) == text


def test_user_text_is_sanitised_in_text_and_kept_in_fields() -> None:
    subject = Subject("v1", "::error::x", "a\nb", "\x1b[31m")
    assert str(subject) == "?:error::x a?b/?[31m"
    assert replace(DENIAL, line=1).at(":") == "?:1:3"
    assert (subject.kind, subject.namespace, subject.name) == ("::error::x", "a\nb", "\x1b[31m")


@pytest.mark.parametrize("form", CheckFormat)
def test_finding_in_a_file_of_its_own_is_reported_there(form: CheckFormat) -> None:
    held = result("denied", replace(DENIAL, file="p.yaml"))
    assert "p.yaml" in written(form.writer(PLAIN), [held])
    assert "p.yaml" not in written(form.writer(PLAIN), [result("denied", DENIAL)])
