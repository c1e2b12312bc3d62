"""Tables that fit a terminal."""

from __future__ import annotations

import pytest

from webhook.report.lines import columns, cut_to, table

ROWS = [("gpu-1", "x" * 60, "3"), ("gpu-2", "y" * 10, "y" * 90)]


def test_columns_are_aligned_without_a_terminal() -> None:
    head, first, second = table(("NODE", "HOLDERS", "N"), ROWS, None)
    assert head.index("N", 5) == first.index("3") == second.index("y" * 90)


@pytest.mark.parametrize("most", [40, 80, 200])
def test_widest_columns_are_cut_first(most: int) -> None:
    lines = list(table(("NODE", "HOLDERS", "N"), ROWS, most))
    assert max(map(columns, lines)) <= most
    assert all("gpu-" in line for line in lines[1:])


def test_narrow_terminal_keeps_some_of_each_column() -> None:
    lines = list(table(("NODE", "HOLDERS", "N"), ROWS, 5))
    assert lines[1].startswith("gpu-1  xxxxxxx…")


@pytest.mark.parametrize(("text", "most", "kept"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 4, "日…")])
def test_cut_text_ends_in_ellipsis(text: str, most: int, kept: str) -> None:
    assert cut_to(text, most) == kept


def test_untrusted_text_stays_on_its_line() -> None:
    assert list(table(("A",), [("x\n\x1b[31m::error::",)], None))[1] == "x??[31m::error::"
