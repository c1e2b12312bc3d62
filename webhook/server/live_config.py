"""The active settings and facts: one snapshot, replaced as a whole and read once per request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps
from webhook.runtime.retry import next_turn
from webhook.server.observe.cluster_doubts import ClusterDoubts
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import ReloadedSource
from webhook.settings.configuration import Configuration, changeable, fixed


@dataclass(frozen=True, slots=True)
class File:
    """A file that the server reads again while it runs.

    `parse` makes settings or facts of bytes, or raises InputError. `loaded` holds the bytes in force from the start.
    """

    path: Path
    parse: Callable[[bytes], Any]
    loaded: bytes

    def read(self) -> bytes:
        """Its content. Raises InputError."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InputError([Diagnostic(str(self.path), 0, 0, error.strerror or str(error))]) from None


@dataclass(frozen=True, slots=True)
class Files:
    """The files that settings and facts were read from; None if they cannot be read again."""

    settings: File | None = None
    facts: File | None = None


class LiveConfig:
    """The settings and facts that can change while the server runs. Settings of the process need a restart.

    A new evaluator is built in steps, between which the server handles requests. One is built at a time, and always of
    the newest settings and facts.
    """

    def __init__(self, configuration: Configuration, facts: Facts, log: EventLog, metrics: Metrics) -> None:
        self._started_with = configuration
        self._settings = configuration.settings
        self._facts_file = facts
        self._cluster_facts: dict[str, Any] = {}
        self._changes = 0
        self._built = 0
        self._building = asyncio.Lock()
        self._log = log
        self._generation = metrics.generation
        self._generation.set(1)
        self.evaluator = Evaluator.of(self._settings, facts)
        self._doubts = ClusterDoubts(log, metrics)
        self._doubts.observe(self.evaluator.ruleset)

    def sources(self, files: Files) -> Iterator[ReloadedSource]:
        if files.settings is not None:
            yield ReloadedSource(
                "settings", files.settings.read, files.settings.parse, self.apply_settings, files.settings.loaded
            )
        if files.facts is not None:
            yield ReloadedSource(
                "facts", files.facts.read, files.facts.parse, self.apply_facts_file, files.facts.loaded
            )

    async def apply_settings(self, configuration: Configuration) -> None:
        """Apply new settings. Those that need a restart are logged and stay as they are."""
        for key in fixed(self._started_with, configuration):
            self._log.event("warning", "setting takes effect after a restart", key=key)
        settings = changeable(self._started_with, configuration)
        if unread := _unread(self._started_with.settings, settings):
            self._log.event("warning", "nodes with new resources are read after a restart", resources=unread)
        if settings == self._settings and self._built == self._changes:
            return
        self._settings = settings
        await self._replace_snapshot()
        self._generation.inc()

    async def apply_facts_file(self, facts: Facts) -> None:
        self._facts_file = facts
        await self._replace_snapshot()

    async def apply_cluster_facts(self, facts: Mapping[str, Any]) -> None:
        """Apply fields of the facts that were read from the cluster. They override those of the facts file.

        None stands for a field that is no longer known: that of the facts file applies again.
        """
        self._cluster_facts |= facts
        await self._replace_snapshot()

    async def _replace_snapshot(self) -> None:
        """Build an evaluator of what is set now, unless another call has built it meanwhile."""
        self._changes += 1
        async with self._building:
            if self._built == self._changes:
                return
            building = self._changes
            known = {field: value for field, value in self._cluster_facts.items() if value is not None}
            self.evaluator = await _in_steps(Evaluator.building(self._settings, replace(self._facts_file, **known)))
            self._built = building
            self._doubts.observe(self.evaluator.ruleset)


def _unread(before: Settings, after: Settings) -> list[str]:
    """The resources by which `webhook.cluster.nodes` has not selected the nodes that it keeps."""
    if not after.facts.nodes:
        return []
    known = {resource.name for resource in before.resources}
    names = [resource.name for resource in after.resources if resource.name not in known]
    return [name for name in names if not name.startswith("nvidia.com/")]


async def _in_steps(steps: Steps[Evaluator]) -> Evaluator:
    """The result of steps, with room for the other tasks of the loop after each."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            evaluator: Evaluator = end.value
            return evaluator
        await next_turn()
