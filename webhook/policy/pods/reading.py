"""Typed access to the members of an object. Absent and null count as empty."""

from __future__ import annotations

import re
from typing import Any, Final

from webhook.policy.verdict import Path

_PLACEHOLDER = re.compile(r"\{\{|\$\{|\$\(|\A\$[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
"""`{{…}}` of Helm, Argo and Jinja, `${…}` of shells, Terraform and Flux, `$(…)` of Tekton and OpenShift, `$NAME`."""


def is_placeholder(value: object) -> bool:
    """Whether a value is text with a placeholder in it."""
    return isinstance(value, str) and _PLACEHOLDER.search(value) is not None


Members = dict[str, Any]
"""A mapping of the object, as decoded from JSON."""

NOTHING: Final[Members] = {}


class MalformedError(Exception):
    """The object's structure is not that of its kind. `path` leads to the wrong value."""

    def __init__(self, path: Path, wanted: str, found: object) -> None:
        super().__init__(f"expected {wanted}, found {type_of(found)}")
        self.path = path


def type_of(value: object) -> str:
    """The type of a value, as authors of manifests call it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a template placeholder" if is_placeholder(value) else "text" if value else "empty text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def mapping(value: Any, path: Path) -> Members:
    """The value itself as a mapping. Raises MalformedError."""
    if not isinstance(value, dict):
        raise MalformedError(path, "a mapping", value)
    return value


def members(holder: Members, field: str, path: Path) -> Members:
    """A field of the value at a path, as a mapping; absent and null count as empty. Raises MalformedError."""
    value = holder.get(field)
    if value is None:
        return NOTHING
    if not isinstance(value, dict):
        raise MalformedError((*path, field), "a mapping", value)
    return value


def elements(holder: Members, field: str, path: Path) -> list[Members]:
    """A field of the value at a path, as a list of mappings; absent and null are empty. Raises MalformedError."""
    value = holder.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedError((*path, field), "a list", value)
    for element in value:
        if not isinstance(element, dict):
            raise MalformedError((*path, field, value.index(element)), "a mapping", element)
    return value


def text(holder: Members, field: str, path: Path) -> str:
    """A field of the value at a path, as text; absent and null count as empty. Raises MalformedError."""
    value = holder.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedError((*path, field), "text", value)
    return value


def texts(holder: Members, field: str, path: Path) -> list[str]:
    """A field of the value at a path, as a list of texts; absent and null are empty. Raises MalformedError."""
    value = holder.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedError((*path, field), "a list", value)
    if not _ONLY_TEXTS.issuperset(map(type, value)):
        index, element = next((index, element) for index, element in enumerate(value) if type(element) is not str)
        raise MalformedError((*path, field, index), "text", element)
    return value


_ONLY_TEXTS = frozenset({str})
