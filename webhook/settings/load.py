"""Settings and facts from plain values: merges the profile, validates the whole, and reports all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webhook.diagnostics import Locate
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, Decisive, bounded
from webhook.policy.settings.formats import did_you_mean, shown
from webhook.policy.verdict import Path
from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE, Configuration, view
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.options import Option, overridden
from webhook.settings.profiles import PROFILES, beneath
from webhook.settings.rules import Problem
from webhook.settings.validation import refuse, validated


def load(value: object, locate: Locate, file: str, options: Sequence[Option] = ()) -> Configuration:
    """The configuration of a settings file, overridden by the options. null, an empty file, gives the defaults.

    Raises InputError.
    """
    body = overridden(_body(value, KIND, locate, file), options)
    profile = body.get("profile")
    below = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
    held: Configuration = validated(beneath(below, body), SETTINGS_FILE, locate, file, options)
    return held


SHARING = frozenset({"profile", "resources", "limits", "requests", "placement"})
"""The keys of a settings file that say how GPUs are shared."""


def load_with_keys(
    value: object, locate: Locate, file: str, options: Sequence[Option] = ()
) -> tuple[Configuration, frozenset[str]]:
    """The configuration of a settings file, and the keys that the file or an option sets. Raises InputError."""
    return load(value, locate, file, options), frozenset(overridden(_body(value, KIND, locate, file), options))


def load_facts(value: object, locate: Locate, file: str, decisive: Decisive = ALWAYS) -> Facts:
    """The facts of a facts file; a part that is missing or null is unknown. Raises InputError.

    Of a node as much is kept as a webhook keeps that reads it from the cluster; what is `decisive` is kept first.
    """
    held: Facts = validated(_body(value, FACTS_KIND, locate, file), FACTS_FILE, locate, file)
    return held if held.nodes is None else replace(held, nodes=tuple(bounded(node, decisive) for node in held.nodes))


def _body(value: object, kind: str, locate: Locate, file: str) -> dict[str, Any]:
    """The mapping of a file without its header. Raises InputError for another kind of file."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse([Problem((), f"must be a mapping, not {shown(value)}")], locate, file)
    header = list(_header(value, kind))
    if header:
        raise refuse(header, locate, file)
    return {key: one for key, one in value.items() if key not in ("apiVersion", "kind")}


def _header(value: Mapping[str, Any], kind: str) -> Iterator[Problem]:
    for key, right in (("apiVersion", API_VERSION), ("kind", kind)):
        given = value.get(key, right)
        if given != right:
            hint = did_you_mean(given, [right]) if isinstance(given, str) else ""
            yield Problem((key,), f'must be "{right}", not {shown(given)}' + (f"; {hint}" if hint else ""))


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
