"""The shape of a file, read off the dataclasses: what stands under which key, in which form, with which default."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from webhook.settings.forms import Choice, Flag, Form
from webhook.settings.names import ANY
from webhook.settings.narrow import NARROWER

MISSING = dataclasses.MISSING
"""The default of a key that must be given."""

_PLAIN: Mapping[Any, Form] = {bool: Flag(), str: ANY}
_ACRONYMS = {"ca": "CA", "ipc": "IPC"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value."""

    form: Form


@dataclass(frozen=True, slots=True)
class Nullable:
    """A value or null."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    element: Shape


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping whose keys are the user's."""

    key: Form
    value: Shape


@dataclass(frozen=True, slots=True)
class Member:
    """What stands under one key. `name` is the field's; `later` as in `setting`."""

    key: str
    name: str
    shape: Shape
    default: Any
    says: str
    later: bool


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A mapping whose keys are ours, equal to itself alone. `build` makes what is held from the members by name."""

    name: str
    says: str
    members: tuple[Member, ...]
    build: Callable[..., Any]

    def member(self, key: str) -> Member | None:
        """The member under a key."""
        return next((member for member in self.members if member.key == key), None)


Shape: TypeAlias = Leaf | Nullable | Listing | Table | Section


@cache
def section(cls: type) -> Section:
    """The section that a dataclass describes."""
    hints = get_type_hints(cls, include_extras=True)
    members = [_member(cls, field, hints[field.name]) for field in dataclasses.fields(cls)]
    says = (cls.__doc__ or "").strip().partition("\n")[0]
    return Section(cls.__name__, says, tuple(members), cls)


def _member(cls: type, field: dataclasses.Field[Any], hint: Any) -> Member:
    shape = _shape(NARROWER.get((cls, field.name), hint))
    default = field.default if field.default_factory is MISSING else field.default_factory()
    says = field.metadata["says"] or (shape.says if isinstance(shape, Section) else "")
    return Member(camel(field.name), field.name, shape, default, says, field.metadata.get("later", False))


def _shape(hint: Any) -> Shape:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Leaf(arguments[1])
    if origin is Literal:
        return Leaf(Choice(arguments))
    if origin in (Union, UnionType):
        return Nullable(_shape(next(argument for argument in arguments if argument is not NoneType)))
    if origin is tuple:
        return Listing(_shape(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key = _shape(arguments[0])
        if isinstance(key, Leaf):
            return Table(key.form, _shape(arguments[1]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return section(hint)
    return Leaf(_PLAIN[hint])


def camel(name: str) -> str:
    """The key of a field: `per_pod` is `perPod`, `client_ca` is `clientCA`."""
    first, *rest = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


def bare(shape: Shape) -> Shape:
    """The shape without its null."""
    return shape.shape if isinstance(shape, Nullable) else shape


def write(shape: Shape, held: Any) -> Any:
    """What is held, as the file has it."""
    match shape:
        case Leaf(form):
            return form.write(held)
        case Nullable(inner):
            return None if held is None else write(inner, held)
        case Listing(element):
            return [write(element, one) for one in held]
        case Table(_, value):
            return {key: write(value, one) for key, one in held.items()}
        case Section():
            return {member.key: write(member.shape, getattr(held, member.name)) for member in shape.members}
