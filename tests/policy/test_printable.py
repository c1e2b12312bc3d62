"""Untrusted text is printed short, on one line, and is no command for a terminal or a CI system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.messages import LIMIT, is_plain, printable

COMMANDS = ["::error file=a,line=1::x", "  ::add-mask::x", "\t::error::x", "\n::error::x", "##[error]x", "a ##[group]x"]
ANYWHERE = ("##[", "##vso[", "##teamcity[")


@pytest.mark.parametrize("text", COMMANDS)
def test_github_command_is_defused(text: str) -> None:
    shown = printable(text)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown


@pytest.mark.parametrize("command", ANYWHERE)
def test_command_of_other_ci_systems_is_defused(command: str) -> None:
    for text in (command, f"a {command}task.setvariable variable=x]y", f"#{command}", command * 2):
        assert command not in printable(text)


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\nb", "a\rb", "a\u2028b", "\u202eabc", "\x9b31m", "a\x00b"])
def test_control_character_becomes_question_mark(text: str) -> None:
    assert printable(text).isprintable()
    assert "?" in printable(text)


def test_long_text_keeps_start_and_end() -> None:
    assert printable("a" * 600 + "z", 9) == "aaaa…aaaz"


def test_ordinary_name_is_unchanged() -> None:
    for name in ("web-0", "nvidia.com/gpu", "Größe", "a b", "std::vector", "日本"):
        assert printable(name) == name


def test_value_that_is_not_text_is_described_by_its_kind() -> None:
    values = [printable(value) for value in ({"a": 1}, ["x"], ("x",), 10**40, -(10**40), 12, None, True, 0.5)]
    assert values == ["a mapping", "a list", "a list", *["a huge number"] * 2, "12", "None", "True", "0.5"]


@given(st.text(max_size=600), st.integers(9, 300))
def test_any_text_is_short_and_printable(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert len(shown) <= limit
    assert shown.isprintable()
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert printable(shown, limit) == shown


def test_limit_holds_the_longest_name_of_an_object() -> None:
    assert LIMIT > 253


@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["##[", "::", ":", "#", "\n"])), max_size=6))
def test_parts_of_plain_text_are_printed_as_they_are(parts: list[str]) -> None:
    if is_plain(" ".join(parts)):
        assert [printable(part) for part in parts] == parts


@pytest.mark.parametrize("text", ["train-0", "é 😀", "a:b", "# [x]"])
def test_usual_text_is_plain(text: str) -> None:
    assert is_plain(text)
