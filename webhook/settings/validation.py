"""The values of a file, validated against its schema tree: pydantic finds all problems at once, and we word them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any

from pydantic import GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema
from pydantic_core.core_schema import CoreSchema

from webhook.diagnostics import KEY, Diagnostic, InputError, Locate, dotted, further
from webhook.policy.settings.formats import Format, Text, did_you_mean, refusal, shown
from webhook.policy.verdict import Path
from webhook.settings.options import Option
from webhook.settings.rules import Problem, conflicts, repeated
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar


def refuse(
    found: Iterable[Problem], locate: Locate, file: str, options: Sequence[Option] = (), others: int = 0
) -> InputError:
    """The error for what was found in a file and in the options over it, in the order of the places.

    `others` are further errors of the file, which are only counted.
    """
    names: Mapping[Path, str] = {(option.section, option.key): option.name for option in options}
    diagnostics = []
    for path, text, other in found:
        message = text if other is None else text.format(names.get(other) or dotted(other))
        key = dotted(path[:-1] if path[-1:] == (KEY,) else path)
        if path in names or not file:
            diagnostics.append(Diagnostic(names.get(path) or key, 0, 0, message))
        else:
            diagnostics.append(Diagnostic(file, *locate(path), f"{key}: {message}" if key else message))
    diagnostics.sort(key=lambda one: (one.line, one.column, one.file, one.message))
    return InputError([*diagnostics, further(file, others)] if others else diagnostics)


def validated(body: object, tree: Object, locate: Locate, file: str, options: Sequence[Option] = ()) -> Any:
    """The dataclass that a file stands for, with the options over it. Raises InputError with all problems."""
    try:
        return _adapter(tree).validate_python(body)
    except ValidationError as error:
        others = max(0, error.error_count() - MOST_DESCRIBED)
        raise refuse(found(error), locate, file, options, others) from None


MOST_DESCRIBED = 1000
"""Errors that are located and described: far more than are listed, so that the first ones are those of the file."""


def found(error: ValidationError) -> Iterator[Problem]:
    """Yield the first problems that pydantic found, in our words; an error that is not expected here keeps its own."""
    for one in error.errors(include_url=False)[:MOST_DESCRIBED]:
        is_key = one["loc"][-1:] == (_OF_KEY,)
        path = one["loc"][:-1] if is_key else one["loc"]
        key = (*path, KEY)
        match one["type"]:
            case "told":
                told = one["ctx"]["tell"](one["input"])
                yield Problem(key, f"the key {told}") if is_key else Problem(path, told)
            case "unknown":
                yield Problem(key, one["ctx"]["tell"](one["input"]))
            case "conflicts":
                for below, message, other in one["ctx"]["conflicts"]:
                    yield Problem((*path, *below), message, None if other is None else (*path, *other))
            case "missing":
                yield Problem(path, "is missing")
            case "invalid_key":
                yield Problem(key, "the key must be text; put it in quotes")
            case _:
                yield Problem(path, one["msg"])


_OF_KEY = "[key]"
"""The last step of a location by which pydantic says that a key of a mapping is wrong, and not the value under it."""


@cache
def _adapter(tree: Object) -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Any, GetPydanticSchema(lambda _source, _handler: _schema(tree))])


def _schema(node: Node, remedy: str = "leave the key out for its defaults") -> CoreSchema:
    """pydantic's schema of a node. `remedy` is for a section that is not a mapping."""
    match node:
        case Scalar(form):
            return _told(_scalar(form), partial(refusal, form))
        case Nullable(inner):
            return core_schema.nullable_schema(_schema(inner))
        case Array(element):
            keys = f"its keys are {', '.join(element.keys)}" if isinstance(element, Object) else ""
            elements = core_schema.list_schema(_schema(element, keys))
            return _built(
                _only(core_schema.list_schema(), "a list", partial(_in_brackets, element), elements), tuple, repeated
            )
        case Map(key, value):
            members = core_schema.dict_schema(_schema(key), _schema(value))
            return _only(core_schema.dict_schema(), "a mapping", "write {} for none", members)
        case Object(build=build):
            section = _only(core_schema.dict_schema(), "a mapping", remedy, _keys(node))
            return _built(section, lambda held: build(**held[0]), conflicts)


def _scalar(form: Format) -> CoreSchema:
    if not isinstance(form, Text):
        return core_schema.no_info_plain_validator_function(form.read)
    text = core_schema.str_schema(strict=True, max_length=form.longest, pattern=f"^(?:{form.pattern})$")
    return core_schema.no_info_after_validator_function(form.read, text) if form.but_not else text


def _keys(section: Object) -> CoreSchema:
    """The known keys alone: every further key fails, because it is none of them."""
    fields = {field.name: _field(field) for field in section.fields}
    known = _told(core_schema.literal_schema(section.keys), partial(_unknown, section.keys), "unknown")
    return core_schema.model_fields_schema(fields, extra_behavior="allow", extras_keys_schema=known)


def _unknown(known: Sequence[str], key: str) -> str:
    advice = did_you_mean(key, known) or f"the keys here are {', '.join(known)}"
    return f"unknown key {shown(key)}; {advice}"


def _field(field: Field) -> core_schema.ModelField:
    value = _schema(field.node)
    if field.shorthand:
        value = core_schema.no_info_before_validator_function(partial(_spelled_out, field.shorthand), value)
    if field.default is not MISSING:
        value = core_schema.with_default_schema(value, default_factory=lambda: field.default)
    return core_schema.model_field(value, validation_alias=field.key)


def _spelled_out(key: str, value: object) -> object:
    return {key: [value]} if isinstance(value, str) else value


def _only(kind: CoreSchema, name: str, remedy: str | Callable[[Any], str], parts: CoreSchema) -> CoreSchema:
    def told(value: Any) -> str:
        return f"must be {name}, not {shown(value)}; {remedy if isinstance(remedy, str) else remedy(value)}"

    checked = _told(kind, told)
    return core_schema.chain_schema([checked, parts])


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]{0,62}")
"""A text that needs no quotes in a list."""


def _in_brackets(element: Node, value: Any) -> str:
    """Return the remedy for a value in place of a list: its only element, where it can be one."""
    is_element = isinstance(element, Scalar) and isinstance(value, str) and _PLAIN.fullmatch(value)
    return f"write [{value}]" if is_element else "write [] for none"


def _told(schema: CoreSchema, tell: Callable[[Any], str], kind: str = "told") -> CoreSchema:
    """The schema with our sentence for its error, which `tell` makes from the wrong value or the unknown key."""
    return core_schema.custom_error_schema(schema, kind, custom_error_message=kind, custom_error_context={"tell": tell})


def _built(parts: CoreSchema, build: Callable[[Any], Any], find: Callable[[Any], Iterable[Problem]]) -> CoreSchema:
    """The value that the program holds, made by `build`, unless its parts contradict each other."""

    def made(values: Any) -> Any:
        held = build(values)
        if contradictions := list(find(held)):
            raise PydanticCustomError("conflicts", "conflicts", {"conflicts": contradictions})
        return held

    return core_schema.no_info_after_validator_function(made, parts)
