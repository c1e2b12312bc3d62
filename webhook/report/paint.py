"""Colour in a report: the function that formats apply to coloured words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""Colours a text, or returns it unchanged. The second argument names the colour."""


def plain(text: str, colour: str) -> str:  # noqa: ARG001 - the signature of a Paint
    """Return the text without colour."""
    return text
