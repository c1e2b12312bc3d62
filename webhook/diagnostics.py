"""What is wrong with an input, and where: one diagnostic and one error, from the reader to the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from webhook.policy.printable import printable
from webhook.policy.verdict import Path

LINE = 8192
"""Characters of a printed line: room for the longest path of Linux (4096), which programs parse, and a message."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of an input. `file` names the file, `<stdin>`, or the option that gave the value.

    `line` and `column` count from 1; both are 0 where the problem concerns the input as a whole. The fields hold text
    of users unchanged. `str` returns `file:line:column: message` on one line that is safe to print.
    """

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return printable(f"{place}: {self.message}", LINE)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file of a folder that is not read, and why. All fields may hold text of users.

    `instead` is the command that checks what is not read; empty where there is none.
    """

    file: str
    reason: str
    instead: str = ""


class InputError(Exception):
    """An input that cannot be used. `diagnostics` lists all its problems in the order of their places."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))


_KEY_LENGTH = 63
_PLAIN_KEY = f"[A-Za-z0-9_-]{{1,{_KEY_LENGTH}}}"
_is_plain = re.compile(_PLAIN_KEY).fullmatch
_KEY = 110
"""Characters of a key that a path quotes."""


def dotted(path: Path) -> str:
    """Return a path as messages write it: `spec.containers[0].env`, `placement.mpsLabels["example.com/mps"]`."""
    return "".join([_step(step) for step in path]).removeprefix(".")


_STEP = re.compile(rf'\.?({_PLAIN_KEY})|\[([0-9]{{1,6}})\]|\["([^"]*)"\]')


def undotted(text: str) -> Path:
    """Return the path that `dotted` has written, as far as the text can be read."""
    path: list[str | int] = []
    place = 0
    while (step := _STEP.match(text, place)) is not None:
        key, index, quoted = step.groups()
        path.append(int(index) if index is not None else quoted if key is None else key)
        place = step.end()
    return tuple(path)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    # Almost all keys are identifiers, which are found faster than by an expression.
    is_plain = step.isidentifier() and step.isascii() and len(step) <= _KEY_LENGTH
    return f".{step}" if is_plain or _is_plain(step) else f'["{printable(step, _KEY)}"]'
