"""Words of commands that name something of a cluster, each checked as the API server checks names of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.policy.messages import Word
from webhook.policy.settings.formats import KIND, LABEL_KEY, LABEL_VALUE, NAMESPACE, OBJECT, Text

_FORMS: Final[Mapping[str, Text]] = {
    "amount": LABEL_VALUE,
    "container": NAMESPACE,
    "namespace": NAMESPACE,
    "resource": LABEL_KEY,
    "taint": LABEL_KEY,
}
"""The forms of names by their nouns; those of others are DNS subdomains (RFC 1123)."""


def named(noun: str, name: str, form: Text | None = None) -> Word:
    """The name of an object, in the form of its noun unless it has another."""
    return Word(name, "" if (form or _FORMS.get(noun, OBJECT)).allows(name) else noun)


def namespace(name: str) -> Word:
    """The name of a namespace: a DNS label."""
    return named("namespace", name)


def reference(kind: str, name: str) -> Word:
    """A kind and a name, as in deployment/web."""
    is_kind = KIND.allows(kind)
    word = named(kind.lower() if is_kind else "object", name)
    return word._replace(text=f"{kind.lower()}/{name}", illegal=word.illegal if is_kind else "object")


def label(key: str, value: str) -> Word:
    """A label with its value, as in team=ml."""
    return Word(f"{key}={value}", "" if LABEL_KEY.allows(key) and LABEL_VALUE.allows(value) else "label")


def within(name: str) -> list[Word | str]:
    """The option for a namespace; nothing where it is not known, as in a file."""
    return ["-n", namespace(name)] if name else []


def qualified(kind: str, space: str, name: str) -> Word:
    """A namespace and the name of an object in it, as in gpu/plugin."""
    return Word(f"{space}/{name}", namespace(space).illegal or named(kind, name).illegal)
