"""The dataclasses as types of pydantic, with rules between values, and the JSON Schemas of files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache, partial, reduce
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, TypeAlias, cast, get_args, get_origin

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import DictSchema
from typing_extensions import TypedDict

from webhook.policy.placement.facts import Facts
from webhook.policy.settings import key_of
from webhook.policy.settings.elements import NamespaceRule, WorkloadPath
from webhook.policy.settings.formats import Duration, Range, Size, Spellings, Text
from webhook.policy.settings.settings import Toleration
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import BUILT_IN
from webhook.policy.workloads.paths import PodPath
from webhook.settings.configuration import API_VERSION, KIND, Configuration, ServerSettings, Tls
from webhook.settings.facts_file import FACTS_KIND
from webhook.settings.members import Member, bare, form_of, is_section, members, summary, words


class Problem(NamedTuple):
    """A problem at a path, with KEY at its end for a wrong key; `{}` in `message` stands for the name of `other`."""

    path: Path
    message: str
    other: Path | None = None


def conflicts(section: Any) -> Iterator[Problem]:
    """Contradictions within one section, at paths below it."""
    match section:
        case Toleration(operator="Exists", value=str()):
            yield Problem(("value",), 'needs the operator "Equal"; "Exists" tolerates every value')
        case NamespaceRule(names=(), selector=None):
            yield Problem((), 'a rule needs "names" or a "selector", otherwise it matches no namespace')
        case Configuration(settings=settings):
            if settings.sharing.namespaces is not None and not settings.facts.namespaces:
                text = "needs {}: true, or the webhook would not know which namespaces have these labels"
                yield Problem(("sharing", "namespaces"), text, ("facts", "namespaces"))
            if settings.message_suffix is not None and not settings.message_suffix.isprintable():
                text = "has a character that cannot be printed, such as a change of direction; remove it"
                yield Problem(("messageSuffix",), text)
        case ServerSettings(port=port, health_port=health_port) if port == health_port != 0:
            yield Problem(
                ("healthPort",), f"must differ from {{}}, which is {port} too; choose another port", ("port",)
            )
        case WorkloadPath(group=group, kind=kind) if built_in := BUILT_IN.get((group, kind)):
            own = _pods(section)
            if any(own.meets(path) for path in built_in.paths):  # each finding would be reported twice
                yield Problem(("path",), f"the pods of {kind} are checked without this entry; remove it")
        case Tls():
            yield from _certificates(section)


def _certificates(tls: Tls) -> Iterator[Problem]:
    if tls.client_subjects and tls.client_ca is None:
        yield Problem(("clientSubjects",), "needs clientCA: without it the server requests no client certificate")
    if tls.leaf_lifetime > tls.ca_lifetime / 2:
        yield Problem(("leafLifetime",), "must be at most half of caLifetime, or leaves would outlive the authority")
    if tls.settle > tls.leaf_lifetime / 3:
        text = "must be at most a third of leafLifetime, or leaves would expire while no authority may sign"
        yield Problem(("settle",), text)


def repeated(elements: Sequence[Any]) -> Iterator[Problem]:
    """Elements of a list that repeat an earlier one, or contradict one of the same kind, at paths below the list."""
    seen: set[str] = set()
    for index, element in enumerate(elements):
        if isinstance(element, WorkloadPath):
            kind = element.group, element.kind
            earlier = [(at, path) for at, path in enumerate(elements[:index]) if (path.group, path.kind) == kind]
            own = _pods(element)
            same = next((at for at, path in earlier if own.meets(_pods(path))), None)
            if same is not None:
                yield Problem((index, "path"), "leads to the same pods as {}; remove one of them", (same, "path"))
            for field in ("resource", "versions", "scope"):
                value = getattr(element, field)
                given = next(((at, getattr(path, field)) for at, path in earlier if getattr(path, field)), None)
                if value and given is not None and value != given[1]:
                    yield Problem((index, field), "must equal {}, because both are of one kind", (given[0], field))
        elif (name := getattr(element, "name", None)) is not None:
            if name in seen:
                yield Problem((index, "name"), f'"{name}" is in the list already; remove one')
            seen.add(name)


def _pods(path: WorkloadPath) -> PodPath:
    return PodPath(path.path, path.holds)


@cache
def adapter(cls: type, kind: str) -> TypeAdapter[Any]:
    """The type of a file with its header, which is read as a dataclass."""
    header = {"apiVersion": NotRequired[Literal[API_VERSION]], "kind": NotRequired[Literal[kind]]}
    return TypeAdapter(_section(cls, header, kind))


def _section(cls: type, header: Mapping[str, Any], name: str) -> Any:
    keys = {key: _key(member) for key, member in members(cls).items()}
    read = cast(Any, TypedDict)(name, {**header, **keys})
    read.__doc__, read.__pydantic_config__ = summary(cls), ConfigDict(extra="forbid")
    return Annotated[read, AfterValidator(partial(_consistent, _builder(cls), conflicts))]


_nested = cache(lambda cls: _section(cls, {}, cls.__name__))


def _builder(cls: type) -> Callable[[Mapping[str, Any]], Any]:
    """What makes the dataclass from the values by key."""
    names = {key_of(field): field.name for field in fields(cls)}
    inline = [(field.name, _builder(type(field.default))) for field in fields(cls) if key_of(field) == "*"]

    def build(values: Mapping[str, Any]) -> Any:
        own = {names[key]: value for key, value in values.items() if key in names}
        return cls(**own, **{name: build_part(values) for name, build_part in inline})

    return build


def _consistent(build: Callable[[Any], Any], find: Callable[[Any], Any], values: Any) -> Any:
    """The value that the program holds, unless its parts contradict each other."""
    built = build(values)
    if contradictions := list(find(built)):
        raise PydanticCustomError("conflicts", "conflicts", {"conflicts": contradictions})
    return built


def _key(member: Member) -> Any:
    made, told = _type(member.hint), partial(_told, member)
    if shorthand := member.field.metadata.get("shorthand"):
        made = Annotated[made, BeforeValidator(partial(_spelled_out, shorthand))]
    made = Annotated[made, Field(description=member.description, json_schema_extra=told)]
    return Required[made] if member.default is MISSING else NotRequired[made]


def _told(member: Member, schema: dict[str, Any]) -> None:
    """Complete the JSON Schema of a key: its default, and the text that may stand for a section."""
    if member.default is not MISSING and not is_section(member.hint):
        schema["default"] = member.default
    if shorthand := member.field.metadata.get("shorthand"):
        element, _ = get_args(members(bare(member.hint))[shorthand].hint)
        schema["anyOf"].insert(1, _text(form_of(element)))


def _spelled_out(key: str, value: object) -> object:
    return {key: [value]} if isinstance(value, str) else value


def _type(hint: Any) -> Any:
    """pydantic's type for one of the policy."""
    if is_section(hint):
        return _nested(hint)
    if bare(hint) is not hint:
        return _type(bare(hint)) | None
    match get_origin(hint), get_args(hint):
        case origin, (element, _) if origin is tuple:
            return Annotated[list[_type(element)], AfterValidator(partial(_consistent, tuple, repeated))]  # type: ignore[misc]
        case origin, (key, value) if isinstance(origin, type) and issubclass(origin, Mapping):
            return dict[_type(key), _type(value)]  # type: ignore[misc]
    return reduce(lambda made, constraint: Annotated[made, constraint], _constraints(hint), hint)


def _constraints(hint: Any) -> list[Any]:
    match form_of(hint):
        case Text() as form:
            text = StringConstraints(strict=True, max_length=form.longest, pattern=_whole(form.pattern))
            excluded = [AfterValidator(partial(_allowed, form))] if form.but_not else []
            return [text, *excluded, WithJsonSchema(_text(form))]
        case Range(least, most):
            return [Strict(), Field(ge=least, le=most)]
        case Duration() as form:
            return [PlainValidator(form.read), WithJsonSchema(_text(form.text))]
        case Size() as form:
            number = {"maximum": form.number.most, "minimum": form.number.least, "type": "integer"}
            return [PlainValidator(form.read), WithJsonSchema({"anyOf": [_text(form.text), number]})]
        case Spellings(pairs):
            spelled = [*words(hint), *(spelling for spelling, _ in pairs)]
            return [BeforeValidator(partial(_word, pairs)), WithJsonSchema({"enum": spelled})]
    return [Strict()] if hint is bool else []


def _word(pairs: tuple[tuple[bool, str], ...], value: Any) -> Any:
    """The word that a value stands for. Raises ValueError for 1, which equals true, and for 0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError  # noqa: TRY004 - pydantic takes no TypeError for a refusal
    return next((word for spelling, word in pairs if value is spelling), value)


def _allowed(form: Text, value: str) -> str:
    if not form.allows(value):
        raise ValueError(form.description)
    return value


def _text(form: Text) -> dict[str, Any]:
    but_not = {"not": {"pattern": _whole(form.but_not)}} if form.but_not else {}
    return {"maxLength": form.longest, **but_not, "pattern": _whole(form.pattern), "type": "string"}


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


DIALECT = GenerateJsonSchema.schema_dialect

Schema: TypeAlias = dict[str, Any]


def schema() -> Schema:
    """The JSON Schema of the settings file."""
    return _file(Configuration, KIND)


def facts_schema() -> Schema:
    """The JSON Schema of the facts file."""
    return _file(Facts, FACTS_KIND)


def _file(cls: type, kind: str) -> Schema:
    made = adapter(cls, kind).json_schema(schema_generator=_Generator)
    return {"$schema": DIALECT, **made, "title": f"gpushare-webhook {kind}"}


class _Generator(GenerateJsonSchema):
    """Without titles of keys, and with the format of the keys of mappings, which users choose."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def dict_schema(self, schema: DictSchema) -> Schema:
        keys, values = (self.generate_inner(schema[part]) for part in ("keys_schema", "values_schema"))
        return {"additionalProperties": values, "propertyNames": keys, "type": "object"}
