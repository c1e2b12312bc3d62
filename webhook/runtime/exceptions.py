"""Exceptions as text for the log: one line of bounded length, with causes and exception groups unwrapped.

The group that a task group raises does not describe the failure itself. Nothing here reads a file or shows a local
variable, so it is safe on the request path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import PurePath
from traceback import walk_tb
from types import TracebackType

from webhook.policy.messages import printable, shorten

_EXCEPTIONS = 8
"""Exceptions in one description."""

_FRAMES = 8
"""Innermost frames of one exception."""

_MESSAGE = 160
"""Characters of the message of one exception."""

_NAME = 64
"""Characters of the name of a class, a function or a file."""

_TEXT = 2048
"""Characters of one description."""


def reason(error: BaseException) -> str:
    """The exceptions of a failure with their places and messages, outermost first.

    A message may quote the object in hand. Use `places` if that object belongs to a tenant.
    """
    return _chained(error, lambda one: f"{_place(one)}{_message(one)}")


def places(error: BaseException) -> str:
    """The exceptions of a failure with their places, outermost first, without any value."""
    return _chained(error, _place)


def stack(error: BaseException) -> str:
    """The frames of each exception of a failure, innermost first, without any value."""
    return _chained(error, lambda one: f"{_kind(one)}: {' < '.join(_frames(one.__traceback__)) or 'no frames'}")


def fields(error: BaseException) -> dict[str, str]:
    """The fields of a log event that describe a failure."""
    return {"error": reason(error), "stack": stack(error)}


def _chained(error: BaseException, described: Callable[[BaseException], str]) -> str:
    links = list(_links(error))
    text = "".join(f"{relation}{described(link)}" for relation, link in links[:_EXCEPTIONS])
    return shorten(text, _TEXT - len(_MORE)) + (_MORE if len(links) > _EXCEPTIONS else "")


_MORE = "; and more"


def _links(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """The exceptions of a failure, each behind the words for its relation to the one that leads to it.

    Each comes once, although chains may be cyclic; at most one more than are described.
    """
    seen: set[int] = set()
    waiting = [("", error)]
    while waiting and len(seen) <= _EXCEPTIONS:
        relation, found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield relation, found
        # The last one comes next.
        if found.__cause__ is not None:
            waiting.append(("; caused by ", found.__cause__))
        elif found.__context__ is not None and not found.__suppress_context__:
            waiting.append(("; while handling ", found.__context__))
        if isinstance(found, BaseExceptionGroup):
            waiting += [("; with ", wrapped) for wrapped in reversed(found.exceptions[: _EXCEPTIONS + 1])]


def _place(error: BaseException) -> str:
    innermost = deque(walk_tb(error.__traceback__), maxlen=1)
    if not innermost:
        return _kind(error)
    frame, line = innermost[0]
    return f"{_kind(error)} at {printable(PurePath(frame.f_code.co_filename).name, _NAME)}:{line}"


def _message(error: BaseException) -> str:
    """The message of an exception after a colon; empty if there is none."""
    try:
        text = printable(str(error), _MESSAGE)
    except Exception:  # `__str__` of any class may fail
        text = "its message cannot be read"
    return f": {text}" if text else ""


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    for frame, line in reversed(deque(walk_tb(traceback), maxlen=_FRAMES)):
        file = "/".join(PurePath(frame.f_code.co_filename).parts[-2:])
        yield f"{printable(file, _NAME)}:{line} {printable(frame.f_code.co_qualname, _NAME)}"


def _kind(error: BaseException) -> str:
    return printable(type(error).__name__, _NAME)
