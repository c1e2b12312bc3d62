"""Reports and the edited objects take time in proportion to what they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.linear import Work, assert_linear
from tests.report.reports import DENIAL, UNREADABLE, WARNING, report, result
from webhook.report import Report, as_json, as_text
from webhook.report.data import json_text, yaml_text

pytestmark = pytest.mark.slow

REPORTS: dict[str, Callable[[int], Report]] = {
    "objects": lambda n: report(*[result("denied", DENIAL, WARNING)] * n),
    "findings of one object": lambda n: report(result("denied", *[DENIAL] * n)),
    "errors": lambda n: report(*[UNREADABLE] * n),
}


@pytest.mark.parametrize("write", [as_text.write, as_json.write])
@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, write: Callable[[Report], str]) -> None:
    def prepared(size: int) -> Work:
        made = REPORTS[name](size)
        return lambda: write(made)

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
def test_data(name: str, write: Callable[[object], str]) -> None:
    def prepared(size: int) -> Work:
        value = {"a": TEXTS[name](size)}
        return lambda: write(value)

    assert_linear(prepared, 5_000, 300_000)
