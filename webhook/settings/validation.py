"""The values of a file, validated: pydantic finds all problems at once, and the schema tree has the words for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import GetPydanticSchema, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema
from pydantic_core.core_schema import CoreSchema

from webhook.diagnostics import Diagnostic, InputError, dotted, further
from webhook.policy.settings.formats import Format, Text, did_you_mean, refusal, shown
from webhook.policy.verdict import Path
from webhook.settings.options import Option
from webhook.settings.rules import Conflict, conflicts, repeated
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, bare

Locate: TypeAlias = Callable[[Path], tuple[int, int]]
"""The line and column of the value at a path, or of its nearest ancestor that exists; both count from 1."""


class Found(NamedTuple):
    """Where something is wrong, and what. In the message `{}` stands for the name of the value at `other`."""

    path: Path
    message: str
    other: Path | None = None


def refuse(
    found: Iterable[Found], locate: Locate, file: str, options: Sequence[Option] = (), others: int = 0
) -> InputError:
    """The error for what was found in a file and in the options over it, in the order of the places.

    `others` are further errors of the file, which are only counted.
    """
    names: Mapping[Path, str] = {(option.section, option.key): option.name for option in options}
    diagnostics = []
    for path, text, other in found:
        message = text if other is None else text.format(names.get(other) or dotted(other))
        key = dotted(path)
        if path in names or not file:
            diagnostics.append(Diagnostic(names.get(path) or key, 0, 0, message))
        else:
            diagnostics.append(Diagnostic(file, *locate(path), f"{key}: {message}" if key else message))
    diagnostics.sort(key=lambda one: (one.line, one.column, one.file, one.message))
    return InputError([*diagnostics, further(file, others)] if others else diagnostics)


MOST_DESCRIBED = 1000
"""Errors that are located and described: far more than are listed, so that the first ones are those of the file."""


def validated(body: object, tree: Object, locate: Locate, file: str, options: Sequence[Option] = ()) -> Any:
    """The dataclass that a file stands for, with the options over it. Raises InputError with all problems."""
    try:
        return _adapter(tree).validate_python(body)
    except ValidationError as error:
        others = max(0, error.error_count() - MOST_DESCRIBED)
        raise refuse(found(error, tree), locate, file, options, others) from None


@cache
def _adapter(tree: Object) -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Any, GetPydanticSchema(lambda _source, _handler: _schema(tree))])


def _schema(node: Node) -> CoreSchema:
    match node:
        case Scalar(form):
            return _scalar(form)
        case Nullable(inner):
            return core_schema.nullable_schema(_schema(inner))
        case Array(element):
            return _built(core_schema.list_schema(_schema(element)), tuple, repeated)
        case Map(key, value):
            return core_schema.dict_schema(_schema(key), _schema(value))
        case Object(fields=fields, build=build):
            keys = {field.name: _key(field) for field in fields}
            section = core_schema.typed_dict_schema(keys, extra_behavior="forbid")
            return _built(section, lambda values: build(**values), conflicts)


def _scalar(form: Format) -> CoreSchema:
    if not isinstance(form, Text):
        return core_schema.no_info_plain_validator_function(form.read)
    text = core_schema.str_schema(strict=True, max_length=form.longest, pattern=f"^(?:{form.pattern})$")
    return core_schema.no_info_after_validator_function(form.read, text) if form.but_not else text


def _key(field: Field) -> core_schema.TypedDictField:
    """A key of a section. Without it, the dataclass has the default."""
    value = _schema(field.node)
    if field.shorthand:
        value = core_schema.no_info_before_validator_function(partial(_spelled_out, field.shorthand), value)
    return core_schema.typed_dict_field(value, required=field.default is MISSING, validation_alias=field.key)


def _spelled_out(key: str, value: object) -> object:
    return {key: [value]} if isinstance(value, str) else value


def _built(parts: CoreSchema, build: Callable[[Any], Any], find: Callable[[Any], Iterable[Conflict]]) -> CoreSchema:
    """The value that the program holds, made by `build`, unless its parts contradict each other."""

    def made(values: Any) -> Any:
        held = build(values)
        if found := list(find(held)):
            raise PydanticCustomError("conflicts", "conflicts", {"conflicts": found})
        return held

    return core_schema.no_info_after_validator_function(made, parts)


def found(error: ValidationError, tree: Object) -> Iterator[Found]:
    """What pydantic found first, in the words of the schema tree. The types of errors decide, not their texts."""
    for one in error.errors(include_url=False)[:MOST_DESCRIBED]:
        *above, last = one["loc"] or [""]
        path = tuple(one["loc"])
        if last == _KEY:
            yield Found(tuple(above), _about_key(one, tuple(above[:-1]), tree))
        elif one["type"] == "conflicts":
            for below, message, other in one["ctx"]["conflicts"]:
                yield Found((*path, *below), message, None if other is None else (*path, *other))
        else:
            yield Found(path, _about_value(one, path, tree))


_KEY = "[key]"
"""The last step of a location by which pydantic says that a key is wrong, and not the value under it."""


def _about_key(one: ErrorDetails, path: Path, tree: Object) -> str:
    match _node_at(path, tree):
        case Map(Scalar(form)):
            return f"the key {refusal(form, one['input'])}"
    return one["msg"]


def _about_value(one: ErrorDetails, path: Path, tree: Object) -> str:
    """What is wrong at a path. pydantic's own text stands only for errors that the schema tree does not expect."""
    match one["type"], _node_at(path, tree):
        case "missing", _:
            return "is missing"
        case "invalid_key", _:
            return "the key must be text; put it in quotes"
        case "extra_forbidden", _:
            return _unknown(str(path[-1]), _node_at(path[:-1], tree))
        case _, Scalar(form):
            return refusal(form, one["input"])
        case "list_type", Array():
            return f"must be a list, not {shown(one['input'])}; write [] for none"
        case "dict_type", Map():
            return f"must be a mapping, not {shown(one['input'])}; write {{}} for none"
        case "dict_type", Object() as node:
            is_element = bool(path) and isinstance(path[-1], int)
            remedy = f"its keys are {', '.join(node.keys)}" if is_element else "leave the key out for its defaults"
            return f"must be a mapping, not {shown(one['input'])}; {remedy}"
    return one["msg"]


def _unknown(key: str, node: Node | None) -> str:
    keys = node.keys if isinstance(node, Object) else []
    advice = did_you_mean(key, keys) or f"the keys here are {', '.join(keys)}"
    return f"unknown key {shown(key)}; {advice}"


def _node_at(path: Path, tree: Object) -> Node | None:
    """The node at a path, without its null; None where the path leaves the tree."""
    node: Node | None = tree
    for step in path:
        match node:
            case Object():
                field = node.field(str(step))
                node = None if field is None else bare(field.node)
            case Array(inner) | Map(_, inner):
                node = bare(inner)
            case _:
                return None
    return node
