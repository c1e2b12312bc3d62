"""`explain`: the page of every check and every injection."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.cli.run import run
from tests.cli.terminal import in_terminal
from webhook.policy import checks
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.report.explanation import explanation

pytestmark = pytest.mark.slow


def shown(code: str, width: int) -> str:
    """What `explain` prints on a terminal of this width."""
    with mock.patch.dict(os.environ, {"COLUMNS": str(width)}):
        return run("explain", code).out


CODES = sorted(
    file.stem.partition("_")[0].upper() for file in Path(str(checks.__file__)).parent.glob("gps[0-9][0-9][0-9]_*.py")
)
INJECTIONS = [injection.name for injection in ALL]
SEVERITIES = {check.code: check.severity.label for check in CHECKS}


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_explain_ignores_case(name: str) -> None:
    assert run("explain", name.lower()).out == run("explain", name.upper()).out == run("explain", name).out


def test_explain_without_code_lists_all() -> None:
    listed = re.findall(r"^- \*\*(\w+)\*\* \((deny|warn|audit|on|off)\): \S", run("explain").out, re.MULTILINE)
    assert [name for name, _ in listed] == [*CODES, *INJECTIONS]
    assert {name: note for name, note in listed if name in CODES} == SEVERITIES
    assert [name for name, note in listed if note == "off"] == ["steering", "voidDevices"]


def test_explain_several_codes_once_each_in_order() -> None:
    out = run("explain", "GPS009", "gps001", "tolerations", "GPS001").out
    one_by_one = [run("explain", code).out for code in ("GPS009", "GPS001", "tolerations")]
    assert out == "\n".join(one_by_one)


def test_unknown_codes_are_a_usage_error() -> None:
    ended = run("explain", "GPS01", "GPS001", "tolerations,", "volcano")
    assert (ended.code, ended.out) == (2, "")
    reported = ended.err.splitlines()[-1]
    named = 'there is no check or injection "GPS01", "tolerations,", "volcano"'
    assert reported == f"Error: {named}; `gpushare-webhook explain` lists them"


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)
def test_only_words_and_yaml_are_wider_than_the_terminal(one: Check[Any] | Injection, width: int) -> None:
    text = shown(one.code if isinstance(one, Check) else one.name, width)
    wide = [line.strip() for line in text.splitlines() if len(line) > width]
    code = "".join(re.findall(r"^```\w+\n(.*?)^```$", explanation(one), re.MULTILINE | re.DOTALL))
    prose = [line.removeprefix("- ") for line in wide if not line.startswith("#") and line not in code]
    assert [line for line in prose if len(line.split()) > 1] == []


@pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)
def test_text_is_the_page_without_links_into_this_repository(one: Check[Any] | Injection) -> None:
    page, links = re.subn(r"\[([^]]+)\]\(\.\./[^)]+\)", r"\1", explanation(one))
    text = shown(one.code if isinstance(one, Check) else one.name, 30)
    assert text.split() == page.split()
    assert links
    code = re.compile(r"^```\w+\n.*?^```$", re.MULTILINE | re.DOTALL)
    assert code.findall(text) == code.findall(page)


def on_terminal(columns: int, **variables: str) -> str:
    """What `explain GPS001` prints on a terminal of this width."""
    lines = in_terminal("explain", "GPS001", width=columns, folder=Path(), environment=variables)
    return "".join(f"{line}\n" for line in lines)


def test_widths() -> None:
    """80 columns where no terminal is; COLUMNS overrides the terminal."""
    assert run("explain", "GPS001").out == shown("GPS001", 80)
    assert on_terminal(57, NO_COLOR="1") == shown("GPS001", 57)
    assert on_terminal(57, NO_COLOR="1", COLUMNS="100") == shown("GPS001", 100)


def test_headings_are_bold_on_a_terminal() -> None:
    bold = on_terminal(80)
    assert "\x1b[1m## Why\x1b[0m\n" in bold
    assert re.sub(r"\x1b\[\d+m", "", bold) == shown("GPS001", 80)


def test_colour_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m## Why\x1b[0m\n" in run("explain", "GPS001").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("explain", "GPS001").out
