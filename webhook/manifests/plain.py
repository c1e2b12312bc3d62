"""Plain keys and scalars: without tag, anchor and escape, on one line."""

from __future__ import annotations

from webhook.manifests import scalars

_NAME = r"[A-Za-z_][A-Za-z0-9_./-]{0,250}+"
KEY = rf'(?:{_NAME}|"{_NAME}")'
"""The pattern of a key."""


def key(text: str) -> str:
    """Return a key without its quotes. Raises ValueError for a plain one that is not text."""
    if text in scalars.WORDS:
        raise ValueError(text)
    return text.strip('"')


def scalar(text: str) -> scalars.Scalar:
    """Return the meaning of a plain scalar. Raises ValueError for a number without a JSON form."""
    value = scalars.plain(text)
    return scalars.json_number(value) if value.__class__ is int or value.__class__ is float else value
