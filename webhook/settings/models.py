"""The shape of a file as pydantic types: they find unknown keys and wrong values, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Annotated, Any, Optional

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    WithJsonSchema,
    create_model,
)
from pydantic_core import PydanticCustomError

from webhook.settings.consistency import Misfit, misfits, repeated
from webhook.settings.forms import Form
from webhook.settings.shape import MISSING, Leaf, Listing, Member, Nullable, Section, Shape, Table, write

_CONFIG = ConfigDict(extra="forbid", strict=True, defer_build=True)

NOT_YET = "(Accepted, but setting it changes nothing in this release.)"
"""What the schema adds to keys that are accepted ahead of what they are for."""


@cache
def adapter(section: Section) -> TypeAdapter[Any]:
    """What validates a file of this shape, and makes what is held from it."""
    return TypeAdapter(_type(section))


def _type(shape: Shape) -> Any:
    match shape:
        case Leaf(form):
            return _leaf(form)
        case Nullable(inner):
            return Optional[_type(inner)]  # noqa: UP045 - made at run time
        case Listing(element):
            return Annotated[list[_type(element)], AfterValidator(partial(_agreeing, repeated, tuple))]  # type: ignore[misc]
        case Table(key, value):
            return dict[_leaf(key), _type(value)]  # type: ignore[misc]
        case Section():
            return Annotated[_model(shape), AfterValidator(partial(_agreeing, misfits, partial(_held, shape)))]


def _leaf(form: Form) -> Any:
    return Annotated[Any, PlainValidator(form.read), WithJsonSchema(form.schema())]


def _model(section: Section) -> type[BaseModel]:
    fields: dict[str, Any] = {member.key: (_type(member.shape), _field(member)) for member in section.members}
    return create_model(section.name, __config__=_CONFIG, __doc__=section.says, **fields)


def _field(member: Member) -> Any:
    says = f"{member.says} {NOT_YET}" if member.later else member.says
    if member.default is MISSING:
        return Field(description=says)
    if isinstance(member.shape, Section):
        return Field(default_factory=lambda: member.default, description=says)
    written = {"default": write(member.shape, member.default)}
    return Field(default_factory=lambda: member.default, description=says, json_schema_extra=written)


def _held(section: Section, model: BaseModel) -> Any:
    return section.build(**{member.name: getattr(model, member.key) for member in section.members})


def _agreeing(find: Callable[[Any], Iterable[Misfit]], build: Callable[[Any], Any], value: Any) -> Any:
    held = build(value)
    found = list(find(held))
    if found:
        raise PydanticCustomError("misfits", "misfits", {"misfits": found})
    return held
