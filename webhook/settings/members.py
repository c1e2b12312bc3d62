"""What the dataclasses say of a file: its keys and their types in words, and its values as the file spells them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeGuard, Union, get_args, get_origin, get_type_hints

from webhook.policy.checks import CHECKS
from webhook.policy.placement import cluster_objects
from webhook.policy.settings import default_of, elements, formats, key_of
from webhook.policy.settings.formats import CODE, Duration, Text

_TYPES = vars(formats) | vars(elements) | vars(cluster_objects) | {"formats": formats, "elements": elements}
"""What annotations of the policy's dataclasses name, which they import for type checkers alone."""

_CODES = Text(
    f"a check's code ({CHECKS[0].code} to {CHECKS[-1].code})", "|".join(check.code for check in CHECKS), CODE.longest
)
"""The settings cannot import the checks, which import the settings: `CODE` becomes the codes of all checks here."""


class Member(NamedTuple):
    """A key of a section: its field, and its type."""

    field: Field[Any]
    hint: Any

    @property
    def default(self) -> Any:
        """The default as a file spells it, or MISSING."""
        return _written(self.field, default_of(self.field))

    @property
    def description(self) -> str:
        """That of the field, else that of the section."""
        return str(self.field.metadata.get("description") or summary(bare(self.hint)))


@cache
def members(cls: type) -> Mapping[str, Member]:
    """The keys of a section. Those of a field with the key `*` are keys of the section itself."""
    hints = get_type_hints(cls, localns=_TYPES | vars(sys.modules[cls.__module__]), include_extras=True)
    keys = {key_of(field): Member(field, hints[field.name]) for field in fields(cls)}
    inline = keys.pop("*", None)
    return keys if inline is None else {"profile": keys.pop("profile"), **members(inline.hint), **keys}


def is_section(hint: Any) -> TypeGuard[type]:
    """Whether a type is a mapping with fixed keys."""
    return is_dataclass(hint)


def summary(cls: type) -> str:
    """The first line of what a section says of itself."""
    return (cls.__doc__ or "").strip().partition("\n")[0]


def bare(hint: Any) -> Any:
    """A type without its null."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return next(part for part in get_args(hint) if part is not NoneType)


def form_of(hint: Any) -> Any:
    """The format of a type; None for one without."""
    form = Text() if hint is str else next(iter(getattr(hint, "__metadata__", ())), None)
    return _CODES if form == CODE else form


def words(hint: Any) -> tuple[Any, ...]:
    """The values of a type that has a few."""
    return get_args(hint if get_origin(hint) is Literal else getattr(hint, "__origin__", None))


def described(hint: Any) -> str:
    """The end of the sentence "must be ..."."""
    if description := getattr(form_of(hint), "description", ""):
        return str(description)
    if choices := words(hint):
        *others, last = [f'"{word}"' if isinstance(word, str) else str(word).lower() for word in choices]
        return f"{', '.join(others)} or {last}" if others else last
    if get_origin(hint) is tuple:
        return "a list"
    return "true or false" if hint is bool else "a mapping"


def at(hint: Any, path: tuple[str | int, ...]) -> Any:
    """The type of the value at a path below a section."""
    for step in path:
        inner = members(hint)[str(step)].hint if is_section(hint) else get_args(hint)[isinstance(step, str)]
        hint = bare(inner)
    return hint


def write(held: Any, *, briefly: bool = False) -> Any:
    """A value as the file spells it; `briefly`: without the keys of sections that hold their defaults."""
    if isinstance(held, Mapping):
        return {key: write(value, briefly=briefly) for key, value in held.items()}
    if isinstance(held, tuple):
        return [write(one, briefly=briefly) for one in held]
    if isinstance(held, float):
        return Duration.write(held)
    if not is_dataclass(held):
        return held
    pairs = [(field, getattr(held, field.name)) for field in fields(held)]
    return {
        key_of(field): _written(field, value, briefly)
        for field, value in pairs
        if not briefly or value != default_of(field)
    }


def _written(field: Field[Any], value: Any, briefly: bool = False) -> Any:
    spell = field.metadata.get("written")
    return write(value, briefly=briefly) if spell is None else spell(value)
