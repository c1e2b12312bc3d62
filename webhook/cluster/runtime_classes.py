"""The RuntimeClasses of a cluster, as facts: an injected class that does not exist refuses every pod."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn

from msgspec import Struct, ValidationError, convert

from webhook.cluster.watch import Api, Contents, CutError, LostError, follow
from webhook.policy.placement.facts import RuntimeClass
from webhook.policy.printable import printable
from webhook.runtime.failure_log import FailureLog, Say
from webhook.runtime.retry import Backoff, lived, moment

PATH: Final = "/apis/node.k8s.io/v1/runtimeclasses"

Classes = tuple[RuntimeClass, ...]


_NAMED = 20
"""Names that a log line holds."""

_AWAITED = 10.0
"""Seconds for which it is worth to wait for them at the start: for some tries, or one that gets no answer."""


class RuntimeClasses:
    """Reads and watches them. `run` it beside the server; `changed` is called with each new state.

    Unknown until read; when the API server is lost, what was known stays.
    """

    def __init__(self, api: Api, changed: Callable[[Classes], None], say: Say) -> None:
        self._api = api
        self._changed = changed
        self._say = say
        self._unread = FailureLog(say, "runtime classes cannot be read", "runtime classes read again")
        self._unwatched = FailureLog(say, "runtime classes cannot be watched", "runtime classes watched again")
        self._began = moment()
        self._confirmed: float | None = None
        self.known: Classes | None = None

    @property
    def age(self) -> float | None:
        """Seconds since they were last known to be so; None while unknown."""
        return None if self._confirmed is None else moment() - self._confirmed

    def pending(self) -> bool:
        """Whether they are unknown and may be known in a moment. Never again once it is not so."""
        return self._confirmed is None and moment() - self._began < _AWAITED

    async def run(self) -> NoReturn:
        """Read and watch until cancelled."""
        again = Backoff(1.0)
        while True:
            began = moment()
            try:
                async with aclosing(follow(self._api, PATH)) as states:
                    async for contents in states:
                        self._know(contents)
                        if lived(began):
                            self._unwatched.is_over()
            except LostError as error:
                self._unread.goes_on(error)
            except CutError as error:
                if not lived(began):
                    self._unwatched.goes_on(error)
            await again.wait_after(began)

    def _know(self, contents: Contents) -> None:
        classes = tuple(_runtime_class(name, contents[name]) for name in sorted(contents))
        self._confirmed = moment()
        self._unread.is_over()
        if classes != self.known:
            self._changed(classes)
            self.known = classes  # only now, so that a failure to take them over is tried again
            names = [printable(one.name) for one in classes[:_NAMED]]
            self._say("info", "runtime classes read", names=names, count=len(classes))


class _Scheduling(Struct, rename="camel"):
    node_selector: dict[str, str] | None = None


class _Found(Struct):
    handler: str = ""
    scheduling: _Scheduling | None = None


def _runtime_class(name: str, found: dict[str, Any]) -> RuntimeClass:
    """A RuntimeClass as a fact. Raises CutError where it is none: the collection is then listed again."""
    try:
        read = convert(found, _Found)
    except ValidationError as error:
        raise CutError(f"RuntimeClass {printable(name)}: not an object of the API server: {error}") from None
    return RuntimeClass(name, read.handler, (read.scheduling and read.scheduling.node_selector) or {})
