"""Options of a command that override keys of the settings file, and are checked together with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """An option that was given. `section` and `key` are those of the settings file, `name` is such as `--port`."""

    name: str
    section: str
    key: str
    value: object


def overridden(body: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
    """The file's mapping with the options in it. A section of the file that is no mapping stays, and is refused."""
    whole = dict(body)
    for option in options:
        section = whole.get(option.section, {})
        if isinstance(section, Mapping):
            whole[option.section] = {**section, option.key: option.value}
    return whole
