"""The schema of a file as a tree, read off the dataclasses: keys, formats, defaults and descriptions.

Validation, JSON Schemas, reference pages, `config view` and the chart are all made from it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from webhook.policy.checks import CHECKS
from webhook.policy.placement import cluster_objects
from webhook.policy.settings import elements, formats
from webhook.policy.settings.formats import ANY, CODE, Choice, Flag, Format

MISSING = dataclasses.MISSING
"""The default of a key that must be given."""


class DefinitionError(TypeError):
    """A dataclass whose field cannot be a setting. The message names the field, and says what to do."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value."""

    format: Format


@dataclass(frozen=True, slots=True)
class Nullable:
    """A value or null."""

    node: Node


@dataclass(frozen=True, slots=True)
class Array:
    """A list."""

    element: Node


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping whose keys the user chooses."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Field:
    """A key of an object. `name` is the dataclass field's; `shorthand` as in `setting`."""

    key: str
    name: str
    node: Node
    default: Any
    description: str
    shorthand: str = ""

    @property
    def short(self) -> Node | None:
        """What may stand for the section: an element of the list that the shorthand names. None without a shorthand."""
        section = bare(self.node)
        named = section.field(self.shorthand) if isinstance(section, Object) else None
        return named.node.element if named is not None and isinstance(named.node, Array) else None


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """A mapping with fixed keys, equal to itself alone. `build` makes the dataclass from the values by field name."""

    name: str
    description: str
    fields: tuple[Field, ...]
    build: Callable[..., Any]

    @property
    def keys(self) -> list[str]:
        return [field.key for field in self.fields]

    def field(self, key: str) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)


Node: TypeAlias = Scalar | Nullable | Array | Map | Object


_TYPES = vars(formats) | vars(elements) | vars(cluster_objects) | {"formats": formats, "elements": elements}
"""What annotations of the policy's dataclasses name, which they import for type checkers alone."""


@cache
def object_of(cls: type) -> Object:
    """The object that a dataclass describes. Raises DefinitionError."""
    hints = _hints(cls)
    fields = [_field(f"{cls.__name__}.{field.name}", field, hints[field.name]) for field in dataclasses.fields(cls)]
    description = (cls.__doc__ or "").strip().partition("\n")[0]
    return Object(cls.__name__, description, tuple(fields), cls)


def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields. Names of the module of the dataclass take precedence."""
    try:
        return get_type_hints(cls, localns=_TYPES | vars(sys.modules[cls.__module__]), include_extras=True)
    except NameError as error:
        raise DefinitionError(f"{cls.__name__}: no module of the policy's types defines {error.name}") from None


def _field(where: str, field: dataclasses.Field[Any], hint: Any) -> Field:
    node = _node(where, hint)
    default = field.default if field.default_factory is MISSING else field.default_factory()
    if default is not MISSING and not _allows(node, default):
        raise DefinitionError(f"{where}: its type does not allow the default {default!r}")
    description = field.metadata.get("description") or (node.description if isinstance(node, Object) else "")
    if not description.endswith("."):
        raise DefinitionError(f"{where}: needs a description, a sentence with its period")
    key = field.metadata.get("key") or camel(field.name)
    made = Field(key, field.name, node, default, description, field.metadata.get("shorthand", ""))
    if made.shorthand and made.short is None:
        raise DefinitionError(f"{where}: its section has no list with the key of the shorthand, {made.shorthand!r}")
    return made


def _node(where: str, hint: Any) -> Node:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        return Nullable(_node(where, next(one for one in arguments if one is not NoneType)))
    if origin is tuple and arguments[1:] == (...,):
        return Array(_node(where, arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key = _node(where, arguments[0])
        if isinstance(key, Scalar):
            return Map(key, _node(where, arguments[1]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return object_of(hint)
    return Scalar(_format(where, hint))


_PLAIN: Mapping[Any, Format] = {bool: Flag(), str: ANY}

_CODES = dataclasses.replace(
    CODE,
    description=f"a check's code ({CHECKS[0].code} to {CHECKS[-1].code})",
    pattern="|".join(check.code for check in CHECKS),
)
"""The settings cannot import the checks, which import the settings: `CODE` becomes the codes of all checks here."""


def _format(where: str, hint: Any) -> Format:
    """The format of a scalar: that of its annotation, its words, or that of its type."""
    if get_origin(hint) is Literal:
        return Choice(get_args(hint))
    form = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Format)), _PLAIN.get(hint))
    if form is not None:
        return _CODES if form == CODE else form
    kind = getattr(hint, "__origin__", hint)
    name = getattr(kind, "__name__", str(kind))
    raise DefinitionError(f"{where}: the type {name} has no format; write Annotated[{name}, Range(...)] or alike")


def _allows(node: Node, held: Any) -> bool:
    """Whether the program may hold a value there."""
    match node:
        case Scalar(form):
            return form.allows(held)
        case Nullable(inner):
            return held is None or _allows(inner, held)
        case Array(element):
            return isinstance(held, tuple) and all(_allows(element, one) for one in held)
        case Map(key, value):
            pairs = held.items() if isinstance(held, Mapping) else [(None, None)]
            return all(_allows(key, one) and _allows(value, other) for one, other in pairs)
        case Object(fields=fields, build=cls):
            is_one = isinstance(cls, type) and isinstance(held, cls)
            return is_one and all(_allows(field.node, getattr(held, field.name)) for field in fields)


def camel(name: str) -> str:
    """The key of a field: `per_pod` is `perPod`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def bare(node: Node) -> Node:
    """The node without its null."""
    return node.node if isinstance(node, Nullable) else node


def write(node: Node, held: Any, *, briefly: bool = False) -> Any:
    """A value as the file spells it; `briefly`: without the keys of objects that hold their defaults."""
    match node:
        case Scalar(form):
            return form.write(held)
        case Nullable(inner):
            return None if held is None else write(inner, held, briefly=briefly)
        case Array(element):
            return [write(element, one, briefly=briefly) for one in held]
        case Map(_, value):
            return {key: write(value, one, briefly=briefly) for key, one in held.items()}
        case Object(fields=fields):
            values = [(field, getattr(held, field.name)) for field in fields]
            written = [(field, one) for field, one in values if not briefly or one != field.default]
            return {field.key: write(field.node, one, briefly=briefly) for field, one in written}
