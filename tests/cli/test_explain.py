"""`explain`: the text of every check and every injection."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest

from tests.cli.run import run
from webhook.cli.examples import examples_of
from webhook.policy import checks
from webhook.policy.injections import ALL

CODES = sorted(
    file.stem.partition("_")[0].upper() for file in Path(str(checks.__file__)).parent.glob("gps[0-9][0-9][0-9]_*.py")
)
INJECTIONS = [injection.name for injection in ALL]


@pytest.mark.parametrize("code", CODES)
def test_explain_check(code: str) -> None:
    ended = run("explain", code)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{code}: ")
    for part in ("\nReads: ", "\nWhy: ", "\nRemedy: ", "\nDefault severity: "):
        assert part in ended.out


@pytest.mark.parametrize("code", CODES)
def test_explain_check_prints_examples(code: str) -> None:
    _, *shown = run("explain", code).out.split("\nExample: ")
    assert len(shown) == len(examples_of(code))
    for text, example in zip(shown, examples_of(code), strict=True):
        parts = [example.settings, example.facts, example.wrong, example.right]
        assert [part for part in parts if indent(part, "    ") not in text] == []
        assert re.search(rf"\n    wrong\.yaml:\d+:\d+: (warn|deny) {code} ", text)
        titles = re.findall(r"^  (\w+):$", text, re.MULTILINE)
        given = [name for name in ("settings", "facts") if getattr(example, name)]
        assert titles == [*given, "wrong", "findings", "right"]


@pytest.mark.parametrize("name", INJECTIONS)
def test_explain_injection(name: str) -> None:
    ended = run("explain", name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{name}: ")
    for part in ("\nAdds: ", "\nWhy: ", "\nNot when: "):
        assert part in ended.out
    reasons = next(injection.reasons for injection in ALL if injection.name == name)
    assert ended.out.endswith("".join(f"  - {reason}\n" for reason in reasons))


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_explain_ignores_case(name: str) -> None:
    assert run("explain", name.lower()).out == run("explain", name.upper()).out == run("explain", name).out


def test_explain_without_code_lists_all() -> None:
    words = run("explain").out.split()
    assert [word for word in words if word in CODES] == CODES
    assert {word for word in words if word in INJECTIONS} == set(INJECTIONS)


def test_unknown_code_is_a_usage_error() -> None:
    ended = run("explain", "GPS999")
    assert (ended.code, ended.out) == (2, "")
    said = ended.err.splitlines()[-1]
    assert said.startswith('Error: there is no check or injection "GPS999"; choose from GPS001, GPS002, ')


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_explain_fits_120_columns(name: str) -> None:
    assert max(map(len, run("explain", name).out.splitlines())) <= 120
