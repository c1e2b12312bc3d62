"""Settings and facts from plain values: merges the profile, validates the whole, and reports all problems at once.

pydantic finds the problems, and we word those that people make.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from webhook.diagnostics import KEY, Diagnostic, InputError, Locate, dotted, further
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, Decisive, bounded
from webhook.policy.settings.formats import did_you_mean, must_be, shown
from webhook.policy.verdict import Path
from webhook.settings.configuration import KIND, Configuration, view
from webhook.settings.facts_file import FACTS_KIND
from webhook.settings.members import at, described, form_of, is_section, members, words
from webhook.settings.options import Option, overridden
from webhook.settings.profiles import PROFILES, beneath
from webhook.settings.schema import Problem, adapter


def load(value: object, locate: Locate, file: str, options: Sequence[Option] = ()) -> Configuration:
    """The configuration of a settings file, overridden by the options. null, an empty file, gives the defaults.

    Raises InputError.
    """
    body = overridden(_body(value, locate, file), options)
    profile = body.get("profile")
    below = PROFILES.get(profile, {}) if isinstance(profile, str) else {}
    configuration: Configuration = validated(beneath(below, body), Configuration, KIND, locate, file, options)
    return configuration


SHARING = frozenset({"profile", "resources", "limits", "requests", "placement"})
"""The keys of a settings file that say how GPUs are shared."""


def load_facts(value: object, locate: Locate, file: str, decisive: Decisive = ALWAYS) -> Facts:
    """The facts of a facts file; a part that is missing or null is unknown. Raises InputError.

    Of a node as much is kept as a webhook keeps that reads it from the cluster; what is `decisive` is kept first.
    """
    facts: Facts = validated(_body(value, locate, file), Facts, FACTS_KIND, locate, file)
    if facts.nodes is None:
        return facts
    return replace(facts, nodes=tuple(bounded(node, decisive) for node in facts.nodes))


def _body(value: object, locate: Locate, file: str) -> Mapping[str, Any]:
    """The mapping of a file. Raises InputError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse([Problem((), f"must be a mapping, not {shown(value)}")], locate, file)
    return value


def load_with_origins(value: object, locate: Locate, file: str) -> tuple[Configuration, dict[Path, str]]:
    """The configuration of a settings file, and the origins of its values that are no defaults.

    The origins are by path in the view of the configuration; a list has one as a whole. Raises InputError.
    """
    configuration = load(value, locate, file)
    profile = f"profile {configuration.profile}"
    origins = {}
    for path in _leaves(view(configuration), ()):
        if _sets(value, path):
            origins[path] = f"{file}:{locate(path)[0]}"
        elif _sets(PROFILES[configuration.profile], path):
            origins[path] = profile
    return configuration, origins


def _leaves(value: Mapping[str, Any], above: Path) -> Iterator[Path]:
    """The paths of everything that is not a mapping with keys."""
    for key, member in value.items():
        path = (*above, key)
        if isinstance(member, Mapping) and member:
            yield from _leaves(member, path)
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


def refuse(
    problems: Iterable[Problem], locate: Locate, file: str, options: Sequence[Option] = (), others: int = 0
) -> InputError:
    """The error for what was found in a file and in the options over it, in the order of the places.

    `others` are further errors of the file, which are only counted.
    """
    names: Mapping[Path, str] = {(option.section, option.key): option.name for option in options}
    diagnostics = []
    for path, text, other in problems:
        message = text if other is None else text.format(names.get(other) or dotted(other))
        key = dotted(path[:-1] if path[-1:] == (KEY,) else path)
        if path in names or not file:
            diagnostics.append(Diagnostic(names.get(path) or key, 0, 0, message))
        else:
            diagnostics.append(Diagnostic(file, *locate(path), f"{key}: {message}" if key else message))
    diagnostics.sort(key=lambda diagnostic: (diagnostic.line, diagnostic.column, diagnostic.file, diagnostic.message))
    return InputError([*diagnostics, further(file, others)] if others else diagnostics)


def validated(body: object, cls: type, kind: str, locate: Locate, file: str, options: Sequence[Option] = ()) -> Any:
    """The dataclass that a file stands for, with the options over it. Raises InputError with all problems."""
    try:
        return adapter(cls, kind).validate_python(body)
    except ValidationError as error:
        others = max(0, error.error_count() - MOST_DESCRIBED)
        raise refuse(problems_of(error, cls), locate, file, options, others) from None


MOST_DESCRIBED = 1000
"""Errors that are located and described: far more than are listed, so that the first ones are those of the file."""


_HEADER = (("apiVersion",), ("kind",))
_OURS = frozenset(
    {
        *("literal_error", "bool_type", "string_type", "string_pattern_mismatch", "string_too_long", "value_error"),
        *("int_type", "int_from_float", "greater_than_equal", "less_than_equal", "list_type", "dict_type"),
    }
)
"""The errors that we word: wrong types, forms, words and numbers. The others keep the words of pydantic."""


def problems_of(error: ValidationError, cls: type) -> Iterator[Problem]:
    """Yield the first problems that pydantic found. Those of the header are the only ones of another kind of file."""
    errors = error.errors(include_url=False)[:MOST_DESCRIBED]
    for detail in [detail for detail in errors if detail["loc"] in _HEADER] or errors:
        path, value, kind = detail["loc"], detail["input"], detail["type"]
        is_key = path[-1:] == ("[key]",)
        path = path[:-1] if is_key else path
        if kind == "conflicts":
            for below, message, other in detail["ctx"]["conflicts"]:
                yield Problem((*path, *below), message, None if other is None else (*path, *other))
        elif kind == "extra_forbidden":
            known = list(members(at(cls, path[:-1])))
            advice = did_you_mean(str(path[-1]), known) or f"the keys here are {', '.join(known)}"
            yield Problem((*path, KEY), f"unknown key {shown(path[-1])}; {advice}")
        elif kind == "missing":
            yield Problem(path, "is missing")
        elif kind == "invalid_key":
            yield Problem((*path, KEY), "the key must be text; put it in quotes")
        elif kind not in _OURS:
            yield Problem(path, detail["msg"])
        elif path in _HEADER:
            right = detail["ctx"]["expected"].strip("'")
            yield Problem(path, must_be(f'"{right}"', value, _near(value, [right])))
        elif is_key:
            yield Problem((*path, KEY), f"the key {_wrong(get_args(at(cls, path[:-1]))[0], value)}")
        else:
            yield Problem(path, _wrong(at(cls, path), value, is_key=isinstance(path[-1], str)))


def _near(value: Any, known: Sequence[str]) -> str:
    return did_you_mean(value, known) if isinstance(value, str) else ""


def _wrong(hint: Any, value: Any, *, is_key: bool = False) -> str:
    """Why a type does not allow a value, and what to do."""
    return must_be(described(hint), value, _remedy(hint, value, is_key=is_key))


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]{0,62}")
"""A text that needs no quotes in a list."""

_BOOLEANS = ("true", "false", "yes", "no", "on", "off")


def _remedy(hint: Any, value: Any, *, is_key: bool) -> str:
    """What to do about a wrong value; empty when there is nothing to add."""
    if is_section(hint):
        return "leave the key out for its defaults" if is_key else f"its keys are {', '.join(members(hint))}"
    if get_origin(hint) is tuple:
        return f"write [{value}]" if isinstance(value, str) and _PLAIN.fullmatch(value) else "write [] for none"
    if remedy := getattr(form_of(hint), "remedy", None):
        return str(remedy(value))
    choices = (True, False) if hint is bool else words(hint)
    if not choices:
        return "write {} for none"
    if isinstance(value, str) and value.lower() in _BOOLEANS and True in choices:
        return "leave out the quotes"
    if isinstance(value, int | float) and str(value) in choices:
        return "put it in quotes"
    return _near(value, [choice for choice in choices if isinstance(choice, str)])
