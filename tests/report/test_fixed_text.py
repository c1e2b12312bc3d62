"""Fixes in the text of a file: proven, or not made."""

from __future__ import annotations

from webhook.policy.verdict import Finding, Severity
from webhook.report.model import Located, TextEdit
from webhook.report.rewrite.fixes import fixed

DATA = b"a: 1\nb: {a: 1, c: 1}\n"


def finding(*edits: TextEdit) -> Located:
    return Located(Finding("GPS001", Severity.DENY, (), "", ""), 1, 1, fix=edits)


A = TextEdit(("a",), 1, 4, 1, "2", 2)
C = TextEdit(("b", "c"), 2, 14, 1, '"x"', "x")


def test_fixes_are_applied_in_any_order() -> None:
    content, findings = fixed(DATA, [finding(C), finding(A), finding()])
    assert content == b'a: 2\nb: {a: 1, c: "x"}\n'
    assert len(findings) == 2


def test_first_of_two_values_counts() -> None:
    other = TextEdit(("a",), 1, 4, 1, "3", 3)
    content, findings = fixed(DATA, [finding(A), finding(other, C), finding(A)])
    assert content == b"a: 2\nb: {a: 1, c: 1}\n"
    assert len(findings) == 2


def test_fix_of_another_text_is_not_made() -> None:
    for data in (
        b"b: 1\na: 5\n",
        b"a:\n- 1\n",
        b"a: [\n",
        b"# comment\n",
        DATA.replace(b"a: 1", b"a: [1]"),
        b"a: &x 1\nb: *x\n",
    ):
        assert fixed(data, [finding(A)]) == (data, ())
    wrong = TextEdit(("a",), 1, 4, 1, "[2]", 2)
    assert fixed(DATA, [finding(wrong)]) == (DATA, ())
