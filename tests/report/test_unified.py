"""The unified diff of a file from the places that change."""

from __future__ import annotations

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from tests.linear import Work, assert_linear
from webhook.report.mutate.diff import DiffLine, unified
from webhook.report.rewrite import Splice, applied


def text(data: bytes, splices: list[Splice]) -> str:
    return "".join(line.mark.strip("@") + line.content.decode() for line in unified(data, splices))


def test_hunk_has_three_lines_around_a_change() -> None:
    data = b"".join(b"%d\n" % number for number in range(10))
    assert text(data, [Splice(8, 8, b"new\n")]) == "@@ -2,6 +2,7 @@\n 1\n 2\n 3\n+new\n 4\n 5\n 6\n"


def test_lines_know_their_place_in_the_file() -> None:
    lines = list(unified(b"a\nb\nc\n", [Splice(2, 3, b"x")]))
    assert lines[1:] == [
        DiffLine(" ", b"a\n", 1),
        DiffLine("-", b"b\n", 2),
        DiffLine("+", b"x\n", 3),
        DiffLine(" ", b"c\n", 3),
    ]


def test_no_splices_make_no_diff() -> None:
    assert text(b"a\n", []) == ""
    assert text(b"a\n", [Splice(0, 1, b"a")]) == ""


def test_lines_that_stay_between_changes_of_a_line_are_context() -> None:
    data = b"a: []\nb\n"
    assert text(data, [Splice(2, 5, b""), Splice(6, 6, b"- x\n")]) == "@@ -1,2 +1,3 @@\n-a: []\n+a:\n+- x\n b\n"


def test_addition_below_a_last_line_without_break() -> None:
    assert text(b"a\nb", [Splice(3, 3, b"\nc")]) == "@@ -1,2 +1,3 @@\n a\n-b+b\n+c"


@given(st.sets(st.integers(0, 30), max_size=8), st.sets(st.integers(0, 29), max_size=4), st.booleans())
def test_hunks_equal_difflib(below: set[int], changed: set[int], has_last_break: bool) -> None:
    # Each line is another one, and no two changes touch, so that there is one shortest diff.
    below = {number for number in below if not {number, number - 1} & changed}
    data = b"".join(b"line %02d\n" % number for number in range(30))
    splices = [Splice(8 * number, 8 * number, b"new %d\n" % number) for number in below]
    splices += [Splice(8 * number, 8 * number, b"more of ") for number in changed if number - 1 not in changed]
    splices.sort(key=lambda one: one.start)
    if not has_last_break and 30 not in below:
        data = data[:-1]
    before, after = (one.decode().splitlines(keepends=True) for one in (data, applied(data, splices)))
    assert text(data, splices) == "".join(list(unified_diff(before, after))[2:])


def test_diff_time_is_linear() -> None:
    def lines(size: int) -> Work:
        data = b"a\n" * size
        return lambda: list(unified(data, [Splice(2 * at, 2 * at, b"b\n") for at in range(0, size, 5)]))

    def one_line(size: int) -> Work:
        data = b"a" * size
        return lambda: list(unified(data, [Splice(at, at, b"b") for at in range(0, size, 5)]))

    assert_linear(lines, 1_000, 30_000)
    assert_linear(one_line, 1_000, 100_000)
