"""Diagnostics and paths as text."""

from __future__ import annotations

import pytest

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
