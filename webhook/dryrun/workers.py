"""Worker processes that compute the results of tasks; the results come in the order of the tasks."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from webhook.diagnostics import Diagnostic, InputError
from webhook.runtime.exceptions import DescribedError, reason

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_AHEAD = 2
"""Tasks of each worker that wait or have an answer that no caller has taken."""


@contextmanager
def ordered(function: Callable[[Task], Answer], jobs: int) -> Iterator[Callable[[Iterable[Task]], Iterator[Answer]]]:
    """Yield the map of a function over worker processes, which start with the first task and end with the context.

    Tasks and answers are pickled, the function is not. The map raises DescribedError if the function fails, and
    InputError if a worker is killed.
    """
    executor = ProcessPoolExecutor(jobs, get_context("fork"), _start, (function,))
    try:
        yield partial(_in_order, executor, jobs * _AHEAD)
    finally:
        executor.shutdown(cancel_futures=True)


def _in_order(executor: ProcessPoolExecutor, most: int, tasks: Iterable[Task]) -> Iterator[Any]:
    """Yield the answers, with at most some tasks ahead of the caller."""
    futures: deque[Future[Any]] = deque()
    try:
        for task in tasks:
            if len(futures) == most:
                yield _answer(futures.popleft())
            futures.append(executor.submit(_answered, task))
        while futures:
            yield _answer(futures.popleft())
    except BrokenProcessPool:
        message = "a worker process was killed, perhaps for lack of memory; use fewer processes"
        raise InputError([Diagnostic("-j", 0, 0, message)]) from None


def _answer(future: Future[Any]) -> Any:
    answer = future.result()
    if isinstance(answer, DescribedError):
        raise answer
    return answer


_work: Callable[[Any], Any]
"""The function of a worker process, which inherits it."""


def _start(function: Callable[[Any], Any]) -> None:
    """Prepare a worker process. It ends with its parent, also when the parent is killed."""
    global _work
    _work = function
    # The terminal sends an interrupt, and SIGHUP when it closes, to all processes; the parent then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the files that SIGTERM removes are the parent's
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _answered(task: Any) -> Any:
    try:
        return _work(task)
    except Exception as error:
        return DescribedError(reason(error))  # the traceback, which names the place, stays in this process
