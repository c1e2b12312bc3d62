"""What the command line offers without loading the settings: options that override keys, and the names of profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Profile = Literal[
    "device-plugin", "host-daemon", "gke", "openshift", "kai", "nv-fractions", "dra", "whole-cards", "none"
]


class Option(NamedTuple):
    """A command-line option such as `--port`, and the section and key of the settings file that it overrides.

    The section is empty for a key of the top level.
    """

    name: str
    section: str
    key: str
    value: object


def overridden(body: Mapping[str, Any], options: Sequence[Option]) -> dict[str, Any]:
    """The mapping of a file with the options in it. A section that is not a mapping stays, for validation to reject."""
    whole = dict(body)
    for option in options:
        if not option.section:
            whole[option.key] = option.value
            continue
        section = whole.get(option.section, {})
        if isinstance(section, Mapping):
            whole[option.section] = {**section, option.key: option.value}
    return whole
