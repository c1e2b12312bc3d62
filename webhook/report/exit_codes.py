"""The exit codes of the command line, for programs that call it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """An exit code and its meaning. Where several of 0 to 3 apply, the highest wins."""

    OK = 0, "nothing denied"
    DENIED = 1, "something denied (or warned, with --fail-on warn)"
    WRONG_INPUT = 2, "wrong usage, unreadable or malformed input, wrong settings"
    INTERNAL_ERROR = 3, "internal error"
    HUNG_UP = 129, "ended by SIGHUP, as when the terminal closes"
    INTERRUPTED = 130, "interrupted"
    OUTPUT_CLOSED = 141, "the reader of standard output closed it, as head does"
    TERMINATED = 143, "ended by SIGTERM"

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member
