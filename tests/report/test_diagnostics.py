"""Diagnostics and paths as text, and paths read again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.diagnostics import LINE, Diagnostic, InputError, dotted
from webhook.policy.verdict import Path


@pytest.mark.parametrize(
    ("diagnostic", "text"),
    [
        (Diagnostic("a.yaml", 3, 5, "not YAML"), "a.yaml:3:5: not YAML"),
        (Diagnostic("a.yaml", 0, 0, "no such file or folder"), "a.yaml: no such file or folder"),
        (Diagnostic("--port", 0, 0, "must be a port"), "--port: must be a port"),
        (Diagnostic(":", 0, 0, "x\ny"), "?: x?y"),
        (Diagnostic("a\nb", 1, 2, "##[x]"), "a?b:1:2: #?[x]"),
    ],
)
def test_diagnostic_text(diagnostic: Diagnostic, text: str) -> None:
    assert str(diagnostic) == text


def test_diagnostic_text_is_bounded() -> None:
    text = str(Diagnostic("f" * LINE, 1, 1, "m" * LINE))
    assert len(text) == LINE
    assert text.startswith("f")
    assert text.endswith("m")


def test_diagnostic_fields_keep_user_text() -> None:
    diagnostic = Diagnostic("a\nb", 1, 2, "\x1b[31m")
    assert (diagnostic.file, diagnostic.message) == ("a\nb", "\x1b[31m")


def test_input_error_has_one_line_per_diagnostic() -> None:
    error = InputError(Diagnostic("a.yaml", line, 1, "two\nlines") for line in (1, 2))
    assert str(error) == "a.yaml:1:1: two?lines\na.yaml:2:1: two?lines"
    assert [one.line for one in error.diagnostics] == [1, 2]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("spec",), "spec"),
        (("spec", "containers", 0, "env"), "spec.containers[0].env"),
        ((0, "name"), "[0].name"),
        (("placement", "mpsLabels", "example.com/mps"), 'placement.mpsLabels["example.com/mps"]'),
        (("a\n::error::b", ""), '["a?::error::b"][""]'),
        (("k" * 64,), f'["{"k" * 64}"]'),
        (("k" * 500,), f'["{"k" * 55}…{"k" * 54}"]'),
    ],
)
def test_dotted_path(path: Path, text: str) -> None:
    assert dotted(path) == text


STEP = re.compile(r'\.?([A-Za-z0-9_-]{1,63})|\[([0-9]{1,6})\]|\["([^"]*)"\]')


def undotted(text: str) -> Path:
    """The path that `dotted` has written, as far as the text can be read."""
    path: list[str | int] = []
    place = 0
    while (step := STEP.match(text, place)) is not None:
        key, index, quoted = step.groups()
        path.append(int(index) if index is not None else quoted if key is None else key)
        place = step.end()
    return tuple(path)


KEYS = st.from_regex(r'[^"]{1,63}', fullmatch=True).filter(
    lambda key: key.isprintable() and "##" not in key and not key.lstrip().startswith("::")
)
"""Keys without what a CI system takes for a command, which a message defuses."""


@given(st.lists(KEYS | st.integers(0, 999_999), max_size=6))
def test_path_round_trips(path: list[str | int]) -> None:
    assert undotted(dotted(tuple(path))) == tuple(path)


def test_shortened_path_is_read_up_to_the_gap() -> None:
    assert undotted("spec.containers[0].resou…ia.com/gpu") == ("spec", "containers", 0, "resou")
    assert undotted("") == ()
