"""The schema tree as pydantic types: pydantic finds unknown keys and wrong values, all at once.

Rules between the values of one section, or between the elements of one list, follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

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

from webhook.policy.settings.elements import NamespaceRule, WorkloadPath
from webhook.policy.settings.formats import (
    SIZE_NUMBER,
    SIZE_TEXT,
    Choice,
    Duration,
    Flag,
    FlagOr,
    Format,
    Range,
    Size,
    Text,
)
from webhook.policy.settings.injections import Toleration
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.paths import PodPath, steps
from webhook.settings.process import ServerSettings, Tls
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


class Conflict(NamedTuple):
    """Where, below the section or list, and what is wrong. `{}` stands for the name of the value at `other`."""

    path: tuple[str | int, ...]
    message: str
    other: tuple[str | int, ...] | None = None


def conflicts(held: Any) -> Iterator[Conflict]:
    """Contradictions within one section."""
    match held:
        case Toleration(operator="Exists", value=str()):
            yield Conflict(("value",), 'needs the operator "Equal"; "Exists" tolerates every value')
        case NamespaceRule(names=(), selector=None):
            yield Conflict((), 'a rule needs "names" or a "selector", otherwise it matches no namespace')
        case ServerSettings(port=port, health_port=health_port) if port == health_port != 0:
            yield Conflict(
                ("healthPort",), f"must differ from {{}}, which is {port} too; choose another port", ("port",)
            )
        case WorkloadPath():
            yield from _built_in(held)
        case Tls():
            yield from _certificates(held)


def _certificates(held: Tls) -> Iterator[Conflict]:
    if held.client_subjects and held.client_ca is None:
        yield Conflict(("clientSubjects",), "needs clientCA: without it the server requests no client certificate")
    if held.leaf_lifetime > held.ca_lifetime / 2:
        yield Conflict(("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive the authority")
    if held.settle > held.leaf_lifetime / 3:
        yield Conflict(
            ("settle",),
            "must be at most a third of leafLifetime, or leaves would expire while no authority may sign",
        )


def _built_in(held: WorkloadPath) -> Iterator[Conflict]:
    """A path to pods that a built-in kind covers: each finding would be reported twice."""
    own, built_in = _pods(held), BUILT_IN.get((held.group, held.kind))
    if built_in is not None and any(own.meets(path) for path in built_in.paths):
        yield Conflict(("path",), f"the pods of {held.kind} are checked without this entry; remove it")


def repeated(held: Sequence[Any]) -> Iterator[Conflict]:
    """Elements of a list that repeat an earlier one."""
    seen: set[str] = set()
    paths: dict[tuple[str, str], list[tuple[int, WorkloadPath]]] = {}
    for index, one in enumerate(held):
        if isinstance(one, WorkloadPath):
            yield from _again(index, one, paths.setdefault((one.group, one.kind), []))
            continue
        name = getattr(one, "name", None)
        if name in seen:
            yield Conflict((index, "name"), f'"{name}" is in the list already; remove one')
        if name is not None:
            seen.add(name)


def _again(index: int, one: WorkloadPath, earlier: list[tuple[int, WorkloadPath]]) -> Iterator[Conflict]:
    """What contradicts the earlier paths of the same kind, or repeats one."""
    own = _pods(one)
    same = next((other for other, path in earlier if own.meets(_pods(path))), None)
    if same is not None:
        yield Conflict((index, "path"), "leads to the same pods as {}; remove one of them", (same, "path"))
    for field in ("resource", "versions", "scope"):
        value = getattr(one, field)
        given = next(((other, getattr(path, field)) for other, path in earlier if getattr(path, field)), None)
        if value and given is not None and value != given[1]:
            yield Conflict((index, field), "must equal {}, because both are of one kind", (given[0], field))
    earlier.append((index, one))


def _pods(path: WorkloadPath) -> PodPath:
    return PodPath(steps(path.path), path.holds)
