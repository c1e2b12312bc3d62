"""Where each effective setting comes from: the settings file, the profile, or the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.policy.verdict import Path
from webhook.settings.configuration import Configuration, view
from webhook.settings.load import load
from webhook.settings.problems import Locate
from webhook.settings.profiles import PROFILES


def load_with_origins(value: object, locate: Locate, file: str) -> tuple[Configuration, dict[Path, str]]:
    """The configuration of a settings file, and the origins of its values that are no defaults.

    The origins are by path in the view of the configuration; a list has one as a whole. Raises InputError.
    """
    held = load(value, locate, file)
    profile = f"profile {held.profile}"
    found = {}
    for path in _leaves(view(held), ()):
        if _sets(value, path):
            found[path] = f"{file}:{locate(path)[0]}"
        elif _sets(PROFILES[held.profile], path):
            found[path] = profile
    return held, found


def _leaves(value: Mapping[str, Any], above: Path) -> Iterator[Path]:
    """The paths of everything that is not a mapping with keys."""
    for key, one in value.items():
        path = (*above, key)
        if isinstance(one, Mapping) and one:
            yield from _leaves(one, path)
        else:
            yield path


def _sets(value: object, path: Path) -> bool:
    """Whether a file or profile sets the value at a path: by its key, or by a shorthand for the section around it."""
    for step in path:
        if not isinstance(value, Mapping):
            return value is not None
        if step not in value:
            return False
        value = value[step]
    return True
