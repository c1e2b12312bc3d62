"""Exceptions as text: every cause is shown, and the length is bounded."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Callable
from typing import NoReturn

import pytest

from webhook.runtime.exceptions import places, reason, stack

ALL = [reason, places, stack]


def parsed(text: str) -> NoReturn:
    try:
        int(text)
    except ValueError as error:
        raise LookupError("no number") from error
    raise AssertionError


def cleaned() -> NoReturn:
    try:
        raise KeyError("resourceVersion")
    finally:
        raise OSError("cannot close")


async def grouped() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(parsed, "x"))


def caught(function: Callable[..., object], *arguments: str) -> BaseException:
    """What a function raises."""
    try:
        function(*arguments)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


async def test_reason_unwraps_task_group_and_cause() -> None:
    with pytest.raises(ExceptionGroup) as error:
        await grouped()
    group, lookup, number = reason(error.value).split("; ")
    assert group.startswith("ExceptionGroup at taskgroups.py:")
    assert group.endswith(": unhandled errors in a TaskGroup (1 sub-exception)")
    assert lookup.startswith("with LookupError at test_exceptions.py:")
    assert lookup.endswith(": no number")
    assert number.startswith("caused by ValueError at test_exceptions.py:")
    assert number.endswith(": invalid literal for int() with base 10: 'x'")


def test_reason_names_context_that_no_cause_replaces() -> None:
    assert "; while handling KeyError at test_exceptions.py:" in reason(caught(cleaned))


def test_reason_leaves_out_suppressed_context() -> None:
    error = caught(cleaned)
    error.__suppress_context__ = True  # as `from None` does
    assert reason(error).startswith("OSError at test_exceptions.py:")
    assert "KeyError" not in reason(error)


def test_places_contain_no_values() -> None:
    said = places(caught(parsed, "hunter2"))
    assert said.startswith("LookupError at test_exceptions.py:")
    assert "; caused by ValueError at test_exceptions.py:" in said
    assert "hunter2" not in said
    assert "no number" not in said


def test_stack_lists_frames_innermost_first_without_values() -> None:
    lookup, number = stack(caught(parsed, "hunter2")).split("; caused by ")
    innermost, outer = lookup.removeprefix("LookupError: ").split(" < ")
    assert innermost.startswith("runtime/test_exceptions.py:")
    assert innermost.endswith(" parsed")
    assert outer.endswith(" caught")
    assert number.startswith("ValueError: runtime/test_exceptions.py:")
    assert "hunter2" not in lookup + number


def test_unraised_exception_has_no_place() -> None:
    error = TimeoutError()
    assert (reason(error), places(error), stack(error)) == ("TimeoutError", "TimeoutError", "TimeoutError: no frames")


@pytest.mark.parametrize("described", ALL)
def test_cyclic_chain_ends(described: Callable[[BaseException], str]) -> None:
    first, second = LookupError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    said = described(first)
    assert (said.count("LookupError"), said.count("KeyError")) == (1, 1)


@pytest.mark.parametrize("described", ALL)
def test_text_is_bounded_whatever_is_raised(described: Callable[[BaseException], str]) -> None:
    text = "☃" * 10**6
    wide = ExceptionGroup("g" * 10_000, [ValueError(text) for _ in range(1000)])
    deep: BaseException = wide
    for _ in range(10_000):
        deep, before = RuntimeError("r" * 1000), deep
        deep.__cause__ = before
    for error in (wide, deep, type("N" * 10**6, (Exception,), {})(text)):
        said = described(error)
        assert len(said) <= 2048
        assert said.endswith("; and more") is isinstance(error, ExceptionGroup | RuntimeError)


def test_reason_is_one_printable_line() -> None:
    said = reason(ValueError("a\nb\x1b[31m\u202e\r::error::c"))
    assert said == "ValueError: a?b?[31m??::error::c"
    assert reason(ValueError("::error::c")) == "ValueError: ?:error::c"


def test_failing_str_is_described() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert reason(MuteError()) == "MuteError: its message cannot be read"


@pytest.mark.parametrize("described", ALL)
def test_no_source_file_is_read(described: Callable[[BaseException], str], monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(*_: object) -> NoReturn:
        raise AssertionError("a file is read on the request path")

    error = caught(parsed, "x")
    for name in ("getline", "getlines", "updatecache", "checkcache", "lazycache"):
        monkeypatch.setattr(linecache, name, reads)
    assert described(error)
