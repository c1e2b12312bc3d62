"""Processes that compute the results of tasks; the results come in the order of the tasks.

Each worker has one task at a time and gets every n-th of them, so that neither side ever waits to write while the other
one waits to write too, and at most one result per worker is held. A worker ends with its pipes: also when its parent is
killed.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO, Generic, TypeAlias, TypeVar

from webhook.diagnostics import Diagnostic, InputError
from webhook.runtime.exceptions import DescribedError, reason

Task = TypeVar("Task")
Answer = TypeVar("Answer")

Map: TypeAlias = Callable[[Iterable[Task]], Iterator[Answer]]
"""Computes the answers of tasks, in their order."""


@contextmanager
def ordered(function: Callable[[Task], Answer], jobs: int) -> Iterator[Map[Task, Answer]]:
    """Yield the map of a function over worker processes, which start with the first tasks and end with the context.

    Tasks and answers are pickled, the function is not. The map raises DescribedError if the function fails, and
    InputError if a worker is killed.
    """
    workers: list[_Worker[Task, Answer]] = []
    try:
        yield partial(_in_order, function, jobs, workers)
    finally:
        for worker in workers:
            worker.end()


def _in_order(
    function: Callable[[Task], Answer], jobs: int, workers: list[_Worker[Task, Answer]], tasks: Iterable[Task]
) -> Iterator[Answer]:
    """Give tasks to workers in turn, and start a worker for each of the first tasks."""
    busy: deque[_Worker[Task, Answer]] = deque()
    for task in tasks:
        if len(busy) < jobs:
            worker = _started(function, workers)
            workers.append(worker)
            worker.ask(task)
            busy.append(worker)
            continue
        worker = busy.popleft()
        answer = worker.answer()
        worker.ask(task)
        busy.append(worker)
        yield answer
    for worker in busy:
        yield worker.answer()


_KILLED = Diagnostic("-j", 0, 0, "a worker process was killed, perhaps for lack of memory; use fewer processes")


class _Worker(Generic[Task, Answer]):
    """A worker process, seen from its parent."""

    __slots__ = ("_answers", "_has_ended", "_pid", "_tasks")

    def __init__(self, pid: int, tasks: BinaryIO, answers: BinaryIO) -> None:
        self._pid = pid
        self._tasks = tasks
        self._answers = answers
        self._has_ended = False

    def ask(self, task: Task) -> None:
        """Send a task to the worker, which has none. Raises InputError if it was killed, else DescribedError."""
        try:
            pickle.dump(task, self._tasks, pickle.HIGHEST_PROTOCOL)
            self._tasks.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def answer(self) -> Answer:
        """Return the answer to the task. Raises DescribedError, and InputError if the worker was killed."""
        try:
            answer: Answer | DescribedError = pickle.load(self._answers)  # noqa: S301 - our own process wrote it
        except (EOFError, pickle.UnpicklingError):
            raise self._failure() from None
        if isinstance(answer, DescribedError):
            raise answer
        return answer

    def _failure(self) -> InputError | DescribedError:
        """Return what ended the process, which has closed its pipes."""
        _, status = os.waitpid(self._pid, 0)
        self._has_ended = True
        return InputError([_KILLED]) if os.WIFSIGNALED(status) else DescribedError("a worker process ended early")

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._tasks.close()
        self._answers.close()

    def end(self) -> None:
        """End the process, busy or not: it holds nothing that others need."""
        if not self._has_ended:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        self.close()


def _started(function: Callable[[Task], Answer], others: Sequence[_Worker[Task, Answer]]) -> _Worker[Task, Answer]:
    tasks, to_worker = os.pipe()
    from_worker, answers = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            # The terminal sends an interrupt to all processes; the parent then ends its workers.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the files that SIGTERM removes are the parent's
            os.close(to_worker)
            os.close(from_worker)
            for other in others:
                other.close()
            with os.fdopen(tasks, "rb") as requests, os.fdopen(answers, "wb") as responses:
                _work(function, requests, responses)
        finally:
            os._exit(0)  # what the parent has not written yet, and its exit handlers, are not for this process
    os.close(tasks)
    os.close(answers)
    return _Worker(pid, os.fdopen(to_worker, "wb"), os.fdopen(from_worker, "rb"))


def _work(function: Callable[[Task], Answer], tasks: BinaryIO, answers: BinaryIO) -> None:
    """Answer tasks until the parent closes the pipe or is gone."""
    with suppress(EOFError, BrokenPipeError):
        while True:
            task: Task = pickle.load(tasks)  # noqa: S301 - the parent wrote it
            pickle.dump(_answered(function, task), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _answered(function: Callable[[Task], Answer], task: Task) -> Answer | DescribedError:
    try:
        return function(task)
    except Exception as error:
        return DescribedError(reason(error))
