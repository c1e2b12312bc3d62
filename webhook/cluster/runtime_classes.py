"""The RuntimeClasses of a cluster, as facts: an injected class that does not exist refuses every pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final, NoReturn, Protocol

from webhook.cluster.watch import Api, Contents, LostError, follow, pause
from webhook.policy.facts import RuntimeClass

PATH: Final = "/apis/node.k8s.io/v1/runtimeclasses"

Classes = tuple[RuntimeClass, ...]


class Say(Protocol):
    """Tells of an event, in the manner of the journal."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        """Say it."""


class RuntimeClasses:
    """Reads and watches them. `run` it beside the server; `changed` is called with each new state.

    Unknown until read; when the API server is lost, what was known stays.
    """

    def __init__(self, api: Api, changed: Callable[[Classes], None], say: Say) -> None:
        self._api = api
        self._changed = changed
        self._say = say
        self._confirmed: float | None = None
        self.known: Classes | None = None

    @property
    def age(self) -> float | None:
        """Seconds since they were last known to be so; None while unknown."""
        return None if self._confirmed is None else asyncio.get_running_loop().time() - self._confirmed

    async def run(self) -> NoReturn:
        """Read and watch until cancelled."""
        failures = 0
        while True:
            try:
                async with aclosing(follow(self._api, PATH)) as states:
                    async for contents in states:
                        if failures:
                            self._say("info", "runtime classes read again")
                        failures = 0
                        self._know(contents)
            except LostError as error:
                if not failures:
                    self._say("warning", "runtime classes cannot be read", error=str(error))
                failures += 1
            await pause(failures)

    def _know(self, contents: Contents) -> None:
        self._confirmed = asyncio.get_running_loop().time()
        classes = tuple(_runtime_class(name, contents[name]) for name in sorted(contents))
        if classes != self.known:
            self.known = classes
            self._say("info", "runtime classes read", names=[one.name for one in classes])
            self._changed(classes)


def _runtime_class(name: str, found: dict[str, Any]) -> RuntimeClass:
    scheduling = found.get("scheduling") or {}
    return RuntimeClass(name, found.get("handler") or "", scheduling.get("nodeSelector") or {})
