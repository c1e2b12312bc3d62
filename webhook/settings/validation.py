"""The schema tree as pydantic types: pydantic finds unknown keys and wrong values, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Annotated, Any, Literal, Optional, Union

import pydantic
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    StrictBool,
    StrictInt,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from webhook.policy.settings.formats import Choice, Flag, FlagOr, Format, Range, Text
from webhook.policy.settings.units import SIZE_NUMBER, SIZE_TEXT, Duration, Size
from webhook.settings.consistency import Conflict, conflicts, repeated
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, write

_CONFIG = ConfigDict(extra="forbid", defer_build=True)

"""What the schema adds to keys that this release accepts ahead of the feature."""


@cache
def adapter(tree: Object) -> pydantic.TypeAdapter[Any]:
    """The validator of a file: it makes the dataclasses from plain values."""
    return pydantic.TypeAdapter(_type(tree))


def _type(node: Node) -> Any:
    match node:
        case Scalar(form):
            return _scalar(form)
        case Nullable(inner):
            return Optional[_type(inner)]  # noqa: UP045 - made at run time
        case Array(element):
            return Annotated[list[_type(element)], AfterValidator(partial(_consistent, repeated, tuple))]  # type: ignore[misc]
        case Map(key, value):
            return dict[_type(key), _type(value)]  # type: ignore[misc]
        case Object():
            keys: dict[str, Any] = {field.key: (_field(field), _key(field)) for field in node.fields}
            model: Any = pydantic.create_model(node.name, __config__=_CONFIG, __doc__=node.description, **keys)
            return Annotated[model, AfterValidator(partial(_consistent, conflicts, partial(_built, node)))]


def _field(field: Field) -> Any:
    """The type of a field; a section with a shorthand also takes an element of the list that the shorthand names."""
    section = _type(field.node)
    if field.short is None:
        return section
    spelled: Any = Union[section, _type(field.short)]  # noqa: UP007 - made at run time
    return Annotated[section, BeforeValidator(partial(_spelled_out, field.shorthand), json_schema_input_type=spelled)]


def _spelled_out(key: str, value: object) -> object:
    return {key: [value]} if isinstance(value, str) else value


def _scalar(form: Format) -> Any:
    """pydantic's own type for a format. Errors need no text: the format has the sentence."""
    match form:
        case Flag():
            return StrictBool
        case FlagOr(word):
            either: Any = Union[StrictBool, Literal[word]]  # noqa: UP007 - made at run time
            return Annotated[Any, PlainValidator(form.read, json_schema_input_type=either)]
        case Range(least, most):
            return Annotated[StrictInt, pydantic.Field(ge=least, le=most)]
        case Choice(words, ()):
            return Literal[words]
        case Choice(words, also):
            spellings: Any = Literal[(*words, *(spelling for spelling, _ in also))]
            return Annotated[Literal[words], BeforeValidator(form.read, json_schema_input_type=spellings)]
        case Text(but_not=""):
            return Annotated[str, _constraints(form)]
        case Text(but_not=but_not):
            described = pydantic.Field(json_schema_extra={"not": {"pattern": _whole(but_not)}})
            return Annotated[str, _constraints(form), AfterValidator(partial(_not_excluded, form)), described]
        case Duration():
            return Annotated[Any, PlainValidator(form.read, json_schema_input_type=_scalar(form.text))]
        case Size():
            written: Any = Union[_scalar(SIZE_TEXT), _scalar(SIZE_NUMBER)]  # noqa: UP007 - made at run time
            return Annotated[Any, PlainValidator(form.read, json_schema_input_type=written)]
    raise TypeError(f"no type of pydantic stands for the format {form!r}")


def _constraints(form: Text) -> StringConstraints:
    return StringConstraints(strict=True, max_length=form.longest, pattern=_whole(form.pattern))


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _not_excluded(form: Text, text: str) -> str:
    if form.excludes(text):
        raise ValueError(form.description)
    return text


def _key(field: Field) -> Any:
    if field.default is MISSING:
        return pydantic.Field(description=field.description)
    spelled = None if isinstance(field.node, Object) else {"default": write(field.node, field.default)}
    return pydantic.Field(
        default_factory=lambda: field.default, description=field.description, json_schema_extra=spelled
    )


def _built(tree: Object, model: pydantic.BaseModel) -> Any:
    return tree.build(**{field.name: getattr(model, field.key) for field in tree.fields})


def _consistent(find: Callable[[Any], Iterable[Conflict]], build: Callable[[Any], Any], value: Any) -> Any:
    """The value that the program holds, made by `build`, unless its parts contradict each other."""
    held = build(value)
    found = list(find(held))
    if found:
        raise PydanticCustomError("conflicts", "conflicts", {"conflicts": found})
    return held
