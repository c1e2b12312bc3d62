"""The report as text for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.report.reports import DENIAL, MISSING, NOTE, UNREADABLE, WARNING, result, text_of, written
from webhook.diagnostics import Diagnostic, Unread
from webhook.report.check.text import QuietWriter
from webhook.report.lines import hanging
from webhook.report.model import Entry, Result
from webhook.report.tally import FailOn
from webhook.report.writer import PLAIN, Page


def marked(text: str, colour: str) -> str:
    return f"<{colour}>{text}</>"


def test_single_finding_has_no_tally() -> None:
    assert text_of(result("denied", DENIAL)).splitlines()[-2:] == ["", "1 object: 1 denied"]


def test_colours_of_severities() -> None:
    shown = text_of(result("denied", DENIAL, WARNING, NOTE), page=Page(marked))
    assert [word for word in ("<red>deny</>", "<yellow>warn</>", "<blue>audit</>") if word in shown] == [
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
        ([MISSING], "0 objects: nothing to check; 1 error"),
        ([result("denied"), MISSING, UNREADABLE], "1 object: 1 denied; 2 errors"),
    ],
)
def test_report_without_findings_is_summary_line(parts: list[Result | Diagnostic], summary: str) -> None:
    assert text_of(*parts).splitlines() == [summary]


def test_skipped_objects_and_unread_files_are_counted_by_reason() -> None:
    reasons = ["skipped: it runs no pods", "skipped: it requests no GPU resource", "skipped: it runs no pods"]
    skipped = [result("skipped")._replace(reason=reason) for reason in reasons]
    unread = [Unread(f"{name}.yaml", "values of a Helm chart") for name in "ab"]
    assert text_of(*skipped, *unread, result("allowed")).splitlines() == [
        "2 files not read: values of a Helm chart",
        "2 objects skipped: it runs no pods",
        "1 object skipped: it requests no GPU resource",
        "4 objects: 1 allowed, 3 skipped",
    ]


def test_objects_with_unchecked_places_are_counted() -> None:
    unchecked = replace(WARNING, code="GPS023")
    twice = result("warned", unchecked, unchecked)
    assert text_of(twice, twice, result("warned", WARNING)).splitlines()[-2:] == [
        "2 objects with a GPU resource that the webhook does not check (GPS023)",
        "3 objects: 3 warned",
    ]


def test_reason_of_object_with_findings_follows_them() -> None:
    suspended = result("warned", WARNING)._replace(reason="suspended: later")
    assert text_of(suspended).splitlines()[2] == "a.yaml:5: Pod team-a/train: suspended: later"


def test_reasons_of_allowed_objects_are_counted_up_to_a_limit() -> None:
    notes = [result("allowed")._replace(reason=f"exempt: reason {number % 50}") for number in range(100)]
    lines = text_of(*notes).splitlines()
    assert lines[:2] == ["60 objects with other notes", "2 objects exempt: reason 0"]
    assert len(lines) == 22


def test_remedies_are_listed_once_and_up_to_a_limit() -> None:
    many = [replace(DENIAL, remedy=f"use node {number % 9}") for number in range(18)]
    lines = text_of(*(result("denied", one) for one in many)).splitlines()
    start = lines.index("Remedies (gpushare-webhook explain CODE tells more):")
    assert lines[start + 1 :] == [
        "  GPS001 use node 0",
        "  GPS001 use node 1",
        "  GPS001 use node 2",
        "  GPS001 (12 more findings have other remedies)",
        "",
        "GPS001 deny 18",
        "18 objects: 18 denied",
    ]


def test_omitted_findings_are_counted_by_code() -> None:
    cut = result("denied", DENIAL)._replace(omitted={"GPS001": 1, "GPS005": 40})
    lines = text_of(cut).splitlines()
    assert lines[2:4] == [
        f"a.yaml:{cut.line}: Pod team-a/train: and 1 more finding of GPS001",
        f"a.yaml:{cut.line}: Pod team-a/train: and 40 more findings of GPS005",
    ]
    assert lines[-2] == "GPS001 deny 1, 41 not listed"


def test_path_of_file_is_never_cut() -> None:
    file = "/".join(["folder" * 20] * 10)
    cut = result("denied", DENIAL)._replace(file=file, omitted={"GPS001": 1})
    for page in (PLAIN, Page(width=40)):
        lines = text_of(cut, page=page).splitlines()
        assert lines[0].startswith(f"{file}:7:3: deny")
        assert any(line.startswith(f"{file}:{cut.line}:") for line in lines)


def test_source_of_renderer_is_named() -> None:
    rendered = result("denied", DENIAL)._replace(source="chart/templates/\x1bpod.yaml")
    assert text_of(rendered).splitlines()[1] == "    Pod team-a/train from chart/templates/?pod.yaml at /spec"


def shown_line(excerpt: str, most: int | None = None) -> str:
    """Return the line that shows the source of a finding."""
    lines = text_of(result("denied", replace(DENIAL, excerpt=excerpt)), page=Page(width=most)).splitlines()
    return next(line for line in lines if line.startswith("   7 | "))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gpu: 22", "gpu: 22"),
        ("gpu: 2\r", "gpu: 2"),
        ("a:\t2", "a:    2"),
        ("a: [训练, 2]", "a: [训练, 2]"),
        ("a: \x1b[31m2", "a: ?[31m2"),
        ("a: ##[error]2", "a: #?[error]2"),
        ("::error::x", "?:error::x"),
    ],
)
def test_source_line_is_sanitised(text: str, shown: str) -> None:
    assert shown_line(text) == f"   7 | {shown}"


@pytest.mark.parametrize(("most", "length"), [(20, 20), (5, 20), (80, 80), (None, 160)])
def test_long_source_line_is_cut(most: int | None, length: int) -> None:
    shown = shown_line("x" * 300, most)
    assert (len(shown), shown[-2:]) == (length, "x…")


MESSAGE = "the container asks for 2 of a resource that is shared on all nodes of " + "x" * 60 + " and 训练" * 9


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_fit_the_width(width: int) -> None:
    wide = replace(DENIAL, message=MESSAGE, remedy=MESSAGE, excerpt="a: " * 60)
    entries: list[Entry] = [
        result("denied", wide)._replace(reason=MESSAGE, omitted={"GPS001": 3}, source="chart/" * 20),
        result("skipped")._replace(reason=MESSAGE),
        Unread("x", MESSAGE),
    ]
    lines = text_of(*entries, page=Page(width=width)).splitlines()
    assert [line for line in lines if len(line) > width] == []
    words = "".join("".join(lines).split())
    assert "".join(MESSAGE.split()) in words


def test_word_too_wide_beside_head_begins_on_next_line() -> None:
    assert hanging("a: fourteen...", "remedies follow", 20, "  ") == ["a: fourteen...", "  remedies follow"]
    assert hanging("a: eleven", "remedies follow", 20, "  ") == ["a: eleven remedies", "  follow"]


def test_width_does_not_break_lines_of_a_file() -> None:
    wide = replace(DENIAL, message=MESSAGE)
    assert text_of(result("denied", wide)).splitlines()[0] == f"a.yaml:7:3: deny GPS001 {MESSAGE}"


def quiet(fail_on: FailOn, entries: Iterable[Result]) -> list[str]:
    return written(QuietWriter(Page(fail_on=fail_on)), entries).splitlines()


def test_quiet_report_holds_failing_findings() -> None:
    entries = [
        result("allowed", NOTE),
        result("denied", DENIAL, WARNING),
        result("skipped")._replace(reason="skipped: it runs no pods"),
    ]
    denials = ["a.yaml:7:3: deny GPS001 too many", "    Pod team-a/train at /spec"]
    warnings = ["a.yaml:1:1: warn GPS005 hides it", "    Pod team-a/train at /"]
    skipped = ["a.yaml:5: Pod team-a/train: skipped: it runs no pods"]
    assert quiet(FailOn.NEVER, entries) == denials
    assert quiet(FailOn.DENY, entries) == denials
    assert quiet(FailOn.WARN, entries) == [*warnings, *denials]
    assert quiet(FailOn.SKIPPED, entries) == [*warnings, *denials, *skipped]
    assert quiet(FailOn.DENY, entries[:1]) == []


def test_quiet_report_counts_unlisted_denials() -> None:
    denied = result("denied", WARNING)._replace(omitted={"GPS001": 5})
    assert quiet(FailOn.DENY, [denied]) == ["a.yaml:5: Pod team-a/train: and 5 more findings of GPS001"]
