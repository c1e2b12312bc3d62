"""Text that cannot be read: the error with its offset."""

from __future__ import annotations

from webhook.diagnostics import Diagnostic
from webhook.policy.printable import printable

DEEPEST = 256
"""Levels of nesting: far more than any Kubernetes object needs, far fewer than the stack of a recursive reader."""

_LONGEST_QUOTE = 48
TOO_DEEP = f"nested deeper than {DEEPEST} levels"


class UnrenderedTemplate(Diagnostic):
    """A document that cannot be read because of a placeholder of a template."""

    __slots__ = ()


class UnreadableError(Exception):
    """A text that cannot be read, and the character offset of the reason."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def quoted(text: str) -> str:
    """Return text of a file for a message: in quotes, shortened and sanitised."""
    return f'"{printable(text, _LONGEST_QUOTE)}"'


def given_twice(key: str, first_line: int, offset: int) -> UnreadableError:
    """Return the error for a mapping key that is given twice."""
    return UnreadableError(f"mapping key {quoted(key)} is given twice, first on line {first_line}", offset)
