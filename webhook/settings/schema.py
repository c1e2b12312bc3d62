"""JSON Schemas of the settings file and the facts file, for editors and other tools that write these files."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.schema_tree import Object
from webhook.settings.validation import adapter

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """pydantic's JSON Schema without titles, which repeat the keys, and closed for the keys of mappings."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the signature is pydantic's
        """Never: the key is the title."""
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> dict[str, Any]:
        """A mapping with the format of its keys. pydantic writes `patternProperties`, which allows other keys."""
        keys, values = schema["keys_schema"], schema["values_schema"]
        return {
            "type": "object",
            "propertyNames": self.generate_inner(keys),
            "additionalProperties": self.generate_inner(values),
        }


def schema() -> dict[str, Any]:
    """The JSON Schema of the settings file."""
    return _schema(SETTINGS_FILE, KIND)


def facts_schema() -> dict[str, Any]:
    """The JSON Schema of the facts file."""
    return _schema(FACTS_FILE, FACTS_KIND)


def _schema(tree: Object, kind: str) -> dict[str, Any]:
    made = adapter(tree).json_schema(schema_generator=_Generator)
    header = {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind}}
    return {
        "$schema": DIALECT,
        **made,
        "title": f"gpushare-webhook {kind}",
        "properties": {**header, **made["properties"]},
    }
