"""JSON Schemas of the settings file and the facts file, for editors and other tools that write these files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from webhook.policy.settings.formats import SIZE_NUMBER, SIZE_TEXT, Choice, Duration, Flag, Format, Range, Size, Text
from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, bare, write

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema: TypeAlias = dict[str, Any]


def schema() -> Schema:
    """The JSON Schema of the settings file."""
    return _file(SETTINGS_FILE, KIND)


def facts_schema() -> Schema:
    """The JSON Schema of the facts file."""
    return _file(FACTS_FILE, FACTS_KIND)


def _file(tree: Object, kind: str) -> Schema:
    header = {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind}}
    sections = {section.name: _section(section) for field in tree.fields for section in _sections(field.node)}
    whole = _section(tree)
    return {
        "$schema": DIALECT,
        "$defs": dict(sorted(sections.items())),
        **whole,
        "title": f"gpushare-webhook {kind}",
        "properties": {**header, **whole["properties"]},
    }


def _sections(node: Node) -> Iterator[Object]:
    match node:
        case Nullable(inner) | Array(inner) | Map(_, inner):
            yield from _sections(inner)
        case Object(fields=fields):
            yield node
            for field in fields:
                yield from _sections(field.node)


def _section(section: Object) -> Schema:
    made = {
        "additionalProperties": False,
        "description": section.description,
        "properties": {field.key: _property(field) for field in section.fields},
        "required": [field.key for field in section.fields if field.default is MISSING],
        "title": section.name,
        "type": "object",
    }
    return {key: value for key, value in made.items() if value != []}


def _property(field: Field) -> Schema:
    value = _value(field.node, field.short)
    if isinstance(field.node, Object):
        return value if field.description == field.node.description else {**value, "description": field.description}
    default = {} if field.default is MISSING else {"default": write(field.node, field.default)}
    return dict(sorted({**value, **default, "description": field.description}.items()))


def _value(node: Node, short: Node | None = None) -> Schema:
    nodes = [bare(node)] if short is None else [bare(node), short]
    found = [schema for one in nodes for schema in _alternatives(one)]
    if isinstance(node, Nullable):
        found.append({"type": "null"})
    return found[0] if len(found) == 1 else {"anyOf": found}


def _alternatives(node: Node) -> list[Schema]:
    match node:
        case Scalar(form):
            return _scalar(form)
        case Array(element):
            return [{"items": _value(element), "type": "array"}]
        case Map(key, value):
            return [{"additionalProperties": _value(value), "propertyNames": _value(key), "type": "object"}]
        case Object(name):
            return [{"$ref": f"#/$defs/{name}"}]
    return []


def _scalar(form: Format) -> list[Schema]:
    match form:
        case Flag(""):
            return [{"type": "boolean"}]
        case Flag(word):
            return [{"type": "boolean"}, {"const": word, "type": "string"}]
        case Range(least, most):
            return [{"maximum": most, "minimum": least, "type": "integer"}]
        case Choice(words, ()):
            return [{"enum": [*words], "type": "string"}]
        case Choice(words, also):
            return [{"enum": [*words, *(spelling for spelling, _ in also)]}]
        case Text():
            return [_text(form)]
        case Duration():
            return _scalar(form.text)
        case Size():
            return [*_scalar(SIZE_TEXT), *_scalar(SIZE_NUMBER)]
    raise TypeError(f"no JSON Schema for the format {form!r}")


def _text(form: Text) -> Schema:
    but_not = {"not": {"pattern": _whole(form.but_not)}} if form.but_not else {}
    return {"maxLength": form.longest, **but_not, "pattern": _whole(form.pattern), "type": "string"}


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"
