"""`explain`: every code and every injection, in the user's words."""

from __future__ import annotations

import pytest

from tests.cli.run import run
from webhook.policy.checks import CHECKS
from webhook.policy.injections import ALL

CODES = [check.code for check in CHECKS]
INJECTIONS = [injection.name for injection in ALL]


@pytest.mark.parametrize("code", CODES)
def test_a_check_is_explained(code: str) -> None:
    ended = run("explain", code)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{code}: ")
    for part in ("\nReads: ", "\nWhy: ", "\nRemedy: ", "\nDefault severity: "):
        assert part in ended.out


@pytest.mark.parametrize("name", INJECTIONS)
def test_an_injection_is_explained(name: str) -> None:
    ended = run("explain", name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{name}: ")
    for part in ("\nAdds: ", "\nWhy: ", "\nNot when: "):
        assert part in ended.out


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_the_case_of_letters_does_not_matter(name: str) -> None:
    assert run("explain", name.lower()).out == run("explain", name.upper()).out == run("explain", name).out


def test_without_a_code_all_are_listed() -> None:
    words = run("explain").out.split()
    assert [word for word in words if word in CODES] == CODES
    assert {word for word in words if word in INJECTIONS} == set(INJECTIONS)


def test_a_code_that_does_not_exist() -> None:
    ended = run("explain", "GPS999")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith('there is no check or injection "GPS999"; known are GPS001, GPS002, ')


@pytest.mark.parametrize("name", [*CODES, *INJECTIONS])
def test_texts_fit_a_terminal(name: str) -> None:
    assert max(map(len, run("explain", name).out.splitlines())) <= 120
