"""The report as text for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest

from tests.cases import every_case
from tests.report.reports import DENIAL, MISSING, NOTE, UNREADABLE, WARNING, result, text_of, written
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests.text import Excerpt
from webhook.report.check.text import QuietWriter
from webhook.report.lines import columns, wrapped
from webhook.report.model import Entry, LocatedFinding, Result
from webhook.report.tally import FailOn
from webhook.report.writer import Page


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
        "2 objects with a GPU resource that is not checked here (GPS023)",
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
    for page in (Page(), Page(width=40)):
        lines = text_of(cut, page=page).splitlines()
        assert lines[0].startswith(f"{file}:7:3: deny")
        assert any(line.startswith(f"{file}:{cut.line}:") for line in lines)


def test_source_of_renderer_is_named() -> None:
    rendered = result("denied", DENIAL)._replace(source="chart/templates/\x1bpod.yaml")
    assert text_of(rendered).splitlines()[1] == "    Pod team-a/train from chart/templates/?pod.yaml at /spec"


def located(text: str, column: int, length: int = 1, first: int = 1) -> LocatedFinding:
    """Return a finding about a value in a line, or in the part of it that begins at a column."""
    return replace(DENIAL, column=column, excerpt=Excerpt(text, first), length=length)


def pointed_at(text: str, column: int, length: int = 1, first: int = 1, most: int | None = None) -> list[str]:
    """Return the two lines that show a value in its line."""
    shown = text_of(result("denied", located(text, column, length, first)), page=Page(width=most)).splitlines()
    start = next(index for index, line in enumerate(shown) if line.startswith("   7 | "))
    return shown[start : start + 2]


@pytest.mark.parametrize(
    ("text", "column", "length", "lines"),
    [
        ("gpu: 22", 6, 2, ["   7 | gpu: 22", "     |      ^^"]),
        ("gpu: 2\r", 6, 1, ["   7 | gpu: 2", "     |      ^"]),
        ("a:\t2", 4, 1, ["   7 | a:    2", "     |       ^"]),
        ("a: [训练, 2]", 9, 1, ["   7 | a: [训练, 2]", "     |           ^"]),
        ("a: 训练", 4, 2, ["   7 | a: 训练", "     |    ^^^^"]),
        ("e\u0301: 2", 5, 1, ["   7 | e\u0301: 2", "     |    ^"]),
        ("a: \x1b[31m2", 9, 1, ["   7 | a: ?[31m2", "     |         ^"]),
        ("a: ##[error]2", 13, 1, ["   7 | a: #?[error]2", "     |             ^"]),
        ("::error::x", 1, 0, ["   7 | ::error::x", "     | ^"]),
        ("a:", 3, 0, ["   7 | a:", "     |   ^"]),
    ],
)
def test_carets_align_with_value(text: str, column: int, length: int, lines: list[str]) -> None:
    assert pointed_at(text, column, length) == lines


@every_case(product([20, 40, 80, 200], ["x", "训", "\t", "e\u0301"], [0, 1, 10, 39, 150, 400], [0, 1, 30, 400]))
def test_long_line_is_cut_around_value(case: tuple[int, str, int, int]) -> None:
    width, filler, before, after = case
    text = f"{filler * before}VALUE{filler * after}"
    source, carets = pointed_at(text, len(filler) * before + 1, 5, most=width)
    assert columns(source) <= max(width, 20)
    assert columns(carets) <= max(width, 20)
    at = carets.index("^")
    ahead = source[: source.index("VALUE"[:1])]
    assert columns(ahead) == at
    assert carets[at:] in ("^^^^^", "^^^^^"[: len(carets) - at])
    assert "VALUE".startswith(source[len(ahead) : len(ahead) + len(carets) - at])


def test_value_at_end_of_long_line_is_not_cut() -> None:
    source, carets = pointed_at("x" * 100 + "VALUE", 101, 5, most=40)
    assert source == "   7 | …" + "x" * 25 + "VALUE"
    assert carets == "     | " + " " * 26 + "^^^^^"


def test_part_of_line_begins_with_ellipsis() -> None:
    assert pointed_at("gpu: 2", 106, 1, first=101) == ["   7 | …gpu: 2", "     |       ^"]


MESSAGE = "the container asks for 2 of a resource that is shared on all nodes of " + "x" * 60 + " and 训练" * 9


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_fit_the_width(width: int) -> None:
    wide = replace(DENIAL, message=MESSAGE, remedy=MESSAGE, excerpt=Excerpt("a: " * 100, 1))
    entries: list[Entry] = [
        result("denied", wide)._replace(reason=MESSAGE, omitted={"GPS001": 3}, source="chart/" * 20),
        result("skipped")._replace(reason=MESSAGE),
        Unread("x", MESSAGE),
    ]
    lines = text_of(*entries, page=Page(width=width)).splitlines()
    assert [line for line in lines if columns(line) > width] == []
    words = "".join("".join(lines).split())
    assert "".join(MESSAGE.split()) in words


def test_word_too_wide_beside_head_begins_on_next_line() -> None:
    assert list(wrapped("remedies follow", 20, "  ", taken=15)) == ["", "  remedies follow"]
    assert list(wrapped("remedies follow", 20, "  ", taken=12)) == ["remedies", "  follow"]


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
