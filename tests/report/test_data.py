"""Data as text: values survive a round trip, and no terminal or CI system interprets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from webhook.manifests import Document, documents
from webhook.report.data import json_text, yaml_text

_COMMANDS = ("::", "::error::x", "\n  ::x", "##[", "##vso[", "##teamcity[")
_CONTROLS = (" ", "\n", "\t", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\xa0", "\u2028", "\u202e", "\ufeff", "\U000e0001")
_SYNTAX = ("'", '"', "\\", "#", ": ", "- ", "|", "null", "1", "é", "☃", "😀", "a" * 200)
ODD = st.sampled_from((*_COMMANDS, *_CONTROLS, *_SYNTAX))
TEXTS = st.lists(ODD | st.text(max_size=5), max_size=6).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
WRITERS: dict[str, tuple[Callable[[object], str], Callable[[str], Any]]] = {
    "json": (json_text, json.loads),
    "yaml": (yaml_text, lambda text: yaml.load(text, yaml.CSafeLoader)),
}


@pytest.mark.parametrize("form", WRITERS)
@given(value=VALUES)
def test_safe_text_round_trip(form: str, value: Any) -> None:
    write, read = WRITERS[form]
    written = write(value)
    assert read(written) == value
    for line in written.split("\n"):
        assert line.isprintable(), repr(line)
        assert not line.lstrip().startswith("::"), line
        assert not any(command in line for command in ("##[", "##vso[", "##teamcity[")), line


@pytest.mark.parametrize("write", [json_text, yaml_text])
def test_printable_text_is_not_escaped(write: Callable[[object], str]) -> None:
    assert "grün ☃" in write({"a": "grün ☃"})


NUMBER_LIKE = st.text("0123456789.eE+-_xXoObBaf", max_size=8)
WORDS = st.sampled_from(("y", "Y", "n", "N", "yes", "off", "True", "null", "~", "", ".inf", "2026-01-01", "1:30", "="))


@given(st.dictionaries(NUMBER_LIKE | WORDS, NUMBER_LIKE | WORDS, min_size=1))
@example({"a": "0_B0"})
def test_yaml_text_stays_text_for_kubectl(value: dict[str, str]) -> None:
    (document,) = documents("file.yaml", yaml_text(value).encode())
    assert isinstance(document, Document)
    assert document.value == value


def test_yaml_quotes_only_what_would_be_no_text() -> None:
    assert yaml_text(["5s", "10.0.0.1", "28Mi", "v1", "1.3", "1e3", "y"]) == (
        "- 5s\n- 10.0.0.1\n- 28Mi\n- v1\n- '1.3'\n- '1e3'\n- 'y'\n"
    )


def test_yaml_has_no_aliases() -> None:
    part = {"a": 1}
    assert yaml_text([part, part]) == "- a: 1\n- a: 1\n"
