"""Data as JSON and YAML text that is safe to print: the values stay, and no terminal or CI system interprets them.

Characters that are not printable, and what begins a command for a CI system (see `webhook.policy.printable`), are
written as escapes of the format.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from webhook.policy.printable import COMMAND_ANYWHERE

_UNUSUAL = re.compile(r"[^\x20-\x7e\n]")
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|^[^\S\n]*::", re.MULTILINE)
_WIDEST = 2**31 - 1
"""Columns of a YAML line. Folded text could begin a line with any of its words."""


def json_text(value: object) -> str:
    """The value as indented JSON with a final line break. Printable text beyond ASCII stays as it is."""
    written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return COMMAND_ANYWHERE.sub(r"#\\u0023", _UNUSUAL.sub(_escaped, written)) + "\n"


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON escapes it: as one or two UTF-16 units."""
    character = found[0]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(rf"\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def yaml_text(value: object) -> str:
    """The value as YAML in block style. What is shared in it is written out each time."""
    written = _dumped(value, unicode=True)
    if any(not found[0].isprintable() for found in _UNUSUAL.finditer(written)):
        written = _dumped(value, unicode=False)
    # Only quoted text holds it: see `_text`.
    return COMMAND_ANYWHERE.sub(r"#\\x23", written)


def _dumped(value: object, *, unicode: bool) -> str:
    written: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=unicode, default_flow_style=False, width=_WIDEST
    )
    return written


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the same object twice is written twice
        return True


def _text(dumper: Any, text: str) -> Any:
    """Text in the style that reads best; in double quotes, on one line, where another could begin a command."""
    style = '"' if _COMMAND.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
