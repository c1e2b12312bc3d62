"""An event loop whose time is virtual: when nothing is left to do, it jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
Events = list[tuple[selectors.SelectorKey, int]]


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits. Its time begins at 0."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.elapsed

    def run_in_executor(self, _executor: Any, func: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Run a function at once: a thread takes no virtual time."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class _Jumping(selectors.BaseSelector):
    """A selector that lets virtual time pass instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._inner = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> Events:
        ready = self._inner.select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits for something that will never happen")
        if not ready and timeout is not None:
            self._loop.elapsed += max(0.0, timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)


virtual = pytest.mark.virtual
"""Marks an asynchronous test, or those of a module, that runs in virtual time: `tests/conftest.py` chooses its loop."""
