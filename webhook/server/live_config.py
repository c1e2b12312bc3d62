"""The active settings and facts: one snapshot, replaced as a whole and read once per request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.decided import Decided
from webhook.policy.evaluate import Evaluator
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.rules import Ruleset
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps
from webhook.runtime.failure_log import Recently
from webhook.runtime.retry import next_turn
from webhook.server.mode_cap import ModeCap
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import ReloadedSource
from webhook.server.versions import Versions
from webhook.settings.configuration import Configuration, changeable, fixed
from webhook.settings.schema_tree import object_of, write

Made = TypeVar("Made")


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
    the newest settings and facts; `replaced` is set after each one. `installed_text` is the text of the settings that
    the API server has; None if it is not known, so that the file's counts.
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
        self._cap = ModeCap(log, metrics)
        self._versions = Versions(self._settings, facts, self._cap.value, metrics)
        self.installed_text: bytes | None = None
        self.replaced = asyncio.Event()
        self._decided = _decided(self._settings)
        self._policies_stopped = False
        self.evaluator = Evaluator.of(self._settings, facts).leaving(self._decided)
        self._doubts = ClusterDoubts(log, metrics)
        self._doubts.observe(self.evaluator.ruleset)

    def sources(self, files: Files) -> Iterator[ReloadedSource]:
        """The files to read again, each with the function that applies its new content."""
        if files.settings is not None:
            yield ReloadedSource(
                "settings",
                partial(self._text, files.settings),
                files.settings.parse,
                self.apply_settings,
                files.settings.loaded,
            )
        if files.facts is not None:
            yield ReloadedSource(
                "facts", files.facts.read, files.facts.parse, self.apply_facts_file, files.facts.loaded
            )

    def _text(self, file: File) -> bytes:
        """The text of the settings. Raises InputError."""
        return file.read() if self.installed_text is None else self.installed_text

    def describe(self, what: str) -> str:
        """The settings or the facts in force, in a form that replicas can be compared by."""
        cap = self._cap.description if what == "settings" else ""
        return ", ".join(filter(None, (self._versions.describe(what), cap)))

    def cap_mode(self, mode: str | None) -> None:
        """Cap the mode everywhere, at once; None lifts the cap. An unknown mode is logged and changes nothing."""
        self._cap.take(mode)
        self.evaluator = self.evaluator.capped(self._cap.value)
        self.replaced.set()
        self._versions.take_settings(self.evaluator.ruleset.settings, self._cap.value)

    def stop_policies(self, stopped: bool) -> None:
        """Let the hooks decide about what policies leave while a cap of their own stops them."""
        if stopped != self._policies_stopped:
            self._policies_stopped = stopped
            self.evaluator = self.evaluator.leaving(self._decided_by_both(self.evaluator.ruleset.settings))

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
        self._versions.count_settings()

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
            built = await _in_steps(Evaluator.building(self._settings, replace(self._facts_file, **known)))
            digest = await _in_steps(self._versions.digesting(built.ruleset.facts))
            self.evaluator = built.leaving(self._decided_by_both(built.ruleset.settings)).capped(self._cap.value)
            self.replaced.set()
            self._built = building
            self._doubts.observe(built.ruleset)
            self._versions.take_facts(digest)
            self._versions.take_settings(built.ruleset.settings, self._cap.value)

    def _decided_by_both(self, settings: Settings) -> Decided | None:
        """What policies decide under these settings and under those of the start; nothing while a cap stops them.

        A change of the ConfigMap alone does not change the policies.
        """
        decided = _decided(settings)
        if decided is None or self._decided is None or self._policies_stopped:
            return None
        return Decided(decided.codes & self._decided.codes, decided.kinds & self._decided.kinds)


def _decided(settings: Settings) -> Decided | None:
    """What policies decide under these settings; None without policies."""
    if not settings.policies.enabled:
        return None
    from webhook.inprocess.decided import decided  # most servers have no policies

    return decided(settings, write(object_of(Settings), settings))


def _unread(before: Settings, after: Settings) -> list[str]:
    """The resources by which `webhook.cluster.nodes` has not selected the nodes that it keeps."""
    if not after.facts.nodes:
        return []
    known = {resource.name for resource in before.resources}
    names = [resource.name for resource in after.resources if resource.name not in known]
    return [name for name in names if not name.startswith("nvidia.com/")]


async def _in_steps(steps: Steps[Made]) -> Made:
    """The result of steps, with room for the other tasks of the loop after each."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Made = end.value
            return made
        await next_turn()


_NAMED: Final = 20
"""Names in a log line."""


class ClusterDoubts:
    """Nodes of which it is unknown how they share their cards, and shared resources that a DeviceClass serves."""

    def __init__(self, log: EventLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._unknown: Sequence[str] = []
        self._served: Sequence[str] = []
        self._only_warns = False
        self._recently = Recently()

    def observe(self, snapshot: Ruleset) -> None:
        index = snapshot.nodes.index
        self._observe_nodes([node.name for node in index.nodes(index.unknown)])
        shared = (resource.name for resource in snapshot.settings.resources if resource.kind == "shared")
        self._observe_classes([name for name in shared if name in snapshot.nodes.dynamic], snapshot.nodes.known)

    def _observe_nodes(self, unknown: Sequence[str]) -> None:
        self._metrics.unknown_nodes.set(len(unknown))
        if unknown == self._unknown:
            return
        self._unknown = unknown
        if not self._recently.new([sha256("\n".join(unknown).encode()).hexdigest()]):
            return
        if not unknown:
            self._log.event("info", "no node of unknown class is left")
            return
        names = [printable(name) for name in unknown[:_NAMED]]
        reason = (
            "no label shows how they share their cards, or they have more labels, taints or resources than are kept"
        )
        self._log.event("warning", "nodes of unknown class", names=names, count=len(unknown), reason=reason)

    def _observe_classes(self, served: Sequence[str], nodes_are_known: bool) -> None:
        self._metrics.served_dynamically.set(len(served))
        only_warns = bool(served) and not nodes_are_known
        if served == self._served and only_warns == self._only_warns:
            return
        self._served, self._only_warns = served, only_warns
        if not served:
            self._log.event("info", "no DeviceClass serves a shared resource any more")
            return
        limits = "warn, unless the pod requires nodes that share" if only_warns else "deny where a known node shares"
        self._log.event("warning", "a DeviceClass serves shared resources", resources=served, limits=limits)
