"""The time to write reports and edited objects is linear in their size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.linear import Work, assert_linear
from tests.report.reports import DENIAL, UNREADABLE, WARNING, result, written
from webhook.report.check import CheckFormat
from webhook.report.data import json_text, yaml_text
from webhook.report.model import Entry
from webhook.report.mutation import is_command
from webhook.report.writer import Page

pytestmark = pytest.mark.slow

ENTRIES: dict[str, Callable[[int], list[Entry]]] = {
    "objects": lambda n: [result("denied", DENIAL, WARNING)] * n,
    "findings of one object": lambda n: [result("denied", *[DENIAL] * n)],
    "errors": lambda n: [UNREADABLE] * n,
}


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize("chosen", CheckFormat)
@pytest.mark.parametrize("name", ENTRIES)
def test_report_time_is_linear(name: str, chosen: CheckFormat) -> None:
    def prepared(size: int) -> Work:
        entries = ENTRIES[name](size)
        return lambda: written(chosen.writer(Page()), entries)

    assert_linear(prepared, 100, 10_000)


TEXTS: dict[str, Callable[[int], object]] = {
    "blanks": lambda n: " " * n,
    "line breaks": lambda n: "\n" * n,
    "commands": lambda n: "\n::" * n,
    "old commands": lambda n: "##[" * n,
    "controls": lambda n: "\u202e" * n,
    "many": lambda n: [f"{index}::" for index in range(n // 8)],
}


@pytest.mark.parametrize("write", [json_text, yaml_text])
@pytest.mark.parametrize("name", TEXTS)
def test_data_time_is_linear(name: str, write: Callable[[object], str]) -> None:
    def prepared(size: int) -> Work:
        value = {"a": TEXTS[name](size)}
        return lambda: write(value)

    assert_linear(prepared, 5_000, 300_000)


@pytest.mark.parametrize("blank", ["\n", "\n\t", "\r\n", "\r", "\v", "\n ", "\n#", "##a"])
def test_search_for_commands_is_linear(blank: str) -> None:
    def prepared(size: int) -> Work:
        text = blank * size
        return lambda: is_command(text)

    assert not is_command(blank)
    assert_linear(prepared, 1_000, 100_000)


@pytest.mark.parametrize("before", ["", "a\n", "\n\n\t", "a\r", "a\r\n \v"])
def test_command_after_blank_lines_is_found(before: str) -> None:
    assert is_command(f"{before}::error::x")
    assert not is_command(f"{before}x::error::x")
