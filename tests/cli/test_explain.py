"""`explain`: the text of every check and every injection, on terminals and as Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.cli.golden_explanations import SHOWN, golden, shown
from tests.cli.run import run
from tests.cli.terminal import in_terminal
from webhook.policy import checks
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.report.explanation import explanation

pytestmark = pytest.mark.slow

CODES = sorted(
    file.stem.partition("_")[0].upper() for file in Path(str(checks.__file__)).parent.glob("gps[0-9][0-9][0-9]_*.py")
)
INJECTIONS = [injection.name for injection in ALL]
SEVERITIES = {check.code: check.severity.label for check in CHECKS}


@pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)
def test_text_has_all_parts_of_the_page(one: Check[Any] | Injection) -> None:
    page = explanation(one)
    text = shown(one.code if isinstance(one, Check) else one.name, 9999)
    assert re.findall(r"^\S.*$", text, re.MULTILINE)[2:] == re.findall("^## (.*)$", page, re.MULTILINE)
    blocks = re.findall(r"^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [block for block in blocks if indent(block, "    ") not in text] == []
    prose = re.sub("^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert [item for item in re.findall("^- [^[].*$", prose, re.MULTILINE) if f"\n  {item}\n" not in text] == []
    links = re.findall(r"^- \[.*\]\((.*)\)$", prose, re.MULTILINE)
    assert [link for link in links if f"\n  {link}\n" not in text] == []


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_explain_ignores_case(name: str) -> None:
    assert run("explain", name.lower()).out == run("explain", name.upper()).out == run("explain", name).out


def test_explain_without_code_lists_all() -> None:
    listed = re.findall(r"^  (\w+) +(deny|warn|on|off) +\S", run("explain").out, re.MULTILINE)
    assert [name for name, _ in listed] == [*CODES, *INJECTIONS]
    assert {name: note for name, note in listed if name in CODES} == SEVERITIES
    assert [name for name, note in listed if note == "off"] == ["steering", "voidDevices"]


def test_explain_several_codes_once_each_in_order() -> None:
    out = run("explain", "GPS009", "gps001", "tolerations", "GPS001").out
    one_by_one = [run("explain", code).out for code in ("GPS009", "GPS001", "tolerations")]
    assert out == "\n\n".join(one_by_one)


def test_explain_all() -> None:
    titles = re.findall(r"^(\w+): ", run("explain", "--all").out, re.MULTILINE)
    assert titles == [*CODES, *INJECTIONS]


def test_all_with_codes_is_a_usage_error() -> None:
    ended = run("explain", "--all", "GPS001")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("Error: --all explains every code; omit the codes, or omit --all\n")


def test_unknown_codes_are_a_usage_error() -> None:
    ended = run("explain", "GPS01", "GPS001", "tolerations,", "volcano")
    assert (ended.code, ended.out) == (2, "")
    reported = ended.err.splitlines()[-1]
    assert reported == (
        'Error: there is no check or injection "GPS01"; did you mean "GPS001"?; '
        'there is no check or injection "tolerations,"; did you mean "tolerations"?; '
        'there is no check or injection "volcano"; `gpushare-webhook explain` lists them'
    )


@pytest.mark.parametrize(
    ("word", "code"), [("GPS1", "GPS001"), ("gps-021", "GPS021"), ("14", "GPS014"), ("GPS0014", "GPS014")]
)
def test_code_with_wrong_digits_gets_suggestion(word: str, code: str) -> None:
    assert run("explain", word).err.endswith(f'"{word}"; did you mean "{code}"?\n')


@pytest.mark.parametrize(("code", "width"), SHOWN)
def test_explanation_is_golden(code: str, width: int) -> None:
    assert shown(code, width) == golden(code, width).read_text(encoding="utf-8"), (
        "run: python -m tests.cli.golden_explanations"
    )


def test_no_golden_file_is_left_over() -> None:
    assert {golden(*one) for one in SHOWN} == set(golden("x", 1).parent.iterdir())


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
@pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)
def test_only_words_and_yaml_are_wider_than_the_terminal(one: Check[Any] | Injection, width: int) -> None:
    text = shown(one.code if isinstance(one, Check) else one.name, width)
    wide = [line.strip() for line in text.splitlines() if len(line) > width]
    code = "".join(re.findall(r"^```\w+\n(.*?)^```$", explanation(one), re.MULTILINE | re.DOTALL))
    assert [line for line in wide if len(line.split()) > 1 and line not in code] == []


@pytest.mark.parametrize("code", [*CODES, *INJECTIONS])
def test_width_does_not_change_words(code: str) -> None:
    def words(width: int) -> list[str]:
        return [word for word in shown(code, width).split() if word != "#"]

    assert words(20) == words(80) == words(1000)


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
    assert "\x1b[1mWhy\x1b[0m\n" in bold
    assert re.sub(r"\x1b\[\d+m", "", bold) == shown("GPS001", 80)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colour_in_a_pipe(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    assert "\x1b[1mWhy\x1b[0m\n" in run("explain", "GPS001").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("explain", "GPS001").out


@pytest.mark.parametrize("one", [*CHECKS, *ALL], ids=lambda one: getattr(one, "code", None) or one.name)
def test_markdown_is_the_page_without_links_into_this_repository(one: Check[Any] | Injection) -> None:
    code = one.code if isinstance(one, Check) else one.name
    page, links = re.subn(r"\[([^]]+)\]\(\.\./[^)]+\)", r"\1", explanation(one))
    assert run("explain", code, "-o", "markdown").out == page
    assert links


def test_markdown_overview() -> None:
    out = run("explain", "-o", "markdown").out
    assert re.findall(r"^- \*\*(\w+)\*\* \(", out, re.MULTILINE) == [*CODES, *INJECTIONS]
