"""Data as JSON and YAML text that keeps every value and that no terminal or CI system interprets.

Characters that are not printable, and the beginnings of commands for a CI system (see `webhook.policy.messages`), are
written as escapes of the format.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec
import yaml

from webhook.policy.messages import COMMAND_ANYWHERE

_UNUSUAL = re.compile(r"[^\x20-\x7e\n]")
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|^[^\S\n]*::", re.MULTILINE)
_NO_TEXT = re.compile(
    r"[yYnN]|[-+]?[0-9_]*\.?[0-9_]*(?:[eE][-+]?[0-9_]+)?|[-+]?_*0_*[xXoObB][-+]?[0-9a-fA-F_]+", re.ASCII
)
"""What kubectl, and the reader of manifests and settings, may take for a boolean or a number, and PyYAML for text."""

_WIDEST = 2**31 - 1
"""Columns of a YAML line: no text is folded, since a folded text could begin a line with any of its words."""


class DataFormat(Enum):
    """A format of plain data. The value is the word that `-o` takes."""

    YAML = "yaml"
    JSON = "json"

    def to_format(self) -> Callable[[object], str]:
        return yaml_text if self is DataFormat.YAML else json_text


def json_text(value: object) -> str:
    """Return the value as indented JSON with a final line break. Printable text beyond ASCII is not escaped."""
    return f"{_json(value)}\n"


def _json(value: object) -> str:
    written = msgspec.json.format(msgspec.json.encode(value)).decode()
    return COMMAND_ANYWHERE.sub(r"#\\u0023", _UNUSUAL.sub(_escaped, written))


class JsonItems:
    """The items of a JSON list, written one by one. `head` is the text before them, with the opening bracket."""

    def __init__(self, head: str, indent: int) -> None:
        self._head = head
        self._indent = " " * indent
        self._before = f"{head}\n"

    def add(self, item: object) -> str:
        """Return the text for an item, after the head or a comma."""
        text = self._before + textwrap.indent(_json(item), self._indent)
        self._before = ",\n"
        return text

    def end(self) -> str:
        """Return the closing bracket, after the head if there are no items."""
        return f"\n{self._indent[2:]}]" if self._before == ",\n" else f"{self._head}]"


def _escaped(found: re.Match[str]) -> str:
    """Return a character as JSON escapes it: as one or two UTF-16 units."""
    character = found[0]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(rf"\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def yaml_text(value: object) -> str:
    """Return the value as YAML in block style, without anchors and aliases."""
    options: dict[str, Any] = {"Dumper": _Dumper, "sort_keys": False, "default_flow_style": False, "width": _WIDEST}
    written: str = yaml.dump(value, allow_unicode=True, **options)
    if any(not found[0].isprintable() for found in _UNUSUAL.finditer(written)):
        written = yaml.dump(value, allow_unicode=False, **options)
    # Only quoted text contains it: see `_text`.
    return COMMAND_ANYWHERE.sub(r"#\\x23", written)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def _text(dumper: Any, text: str) -> Any:
    """Represent text in the style that reads best; in quotes where it could begin a command or mean a number."""
    style = '"' if _COMMAND.search(text) else "'" if _NO_TEXT.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
