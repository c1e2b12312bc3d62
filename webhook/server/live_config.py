"""The active settings and facts: one snapshot, replaced as a whole and read once per request.

Digests let people and alerts compare replicas: they are equal on replicas that decide alike. A digest has 48 bits, so
that a metric, a float, holds it exactly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import DOMAIN
from webhook.policy.settings.settings import Settings
from webhook.policy.snapshot import MODES, Cap, Snapshot
from webhook.policy.steps import Steps, finished
from webhook.runtime.retry import Recently, next_turn
from webhook.server.log import EventLog
from webhook.server.metrics import Metrics
from webhook.server.reload import ReloadedSource, content
from webhook.settings.configuration import Configuration, changeable, fixed
from webhook.settings.members import write

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class File:
    """A file that the server reads again while it runs.

    `parse` makes settings or facts of bytes, or raises InputError. `loaded` holds the bytes in force from the start.
    """

    path: Path
    parse: Callable[[bytes], Any]
    loaded: bytes


_NO_CAP: Final = MODES[-1]


class LiveConfig:
    """The settings and facts that can change while the server runs. Settings of the process need a restart.

    A new evaluator is built in steps, between which the server handles requests. One is built at a time, and always of
    the newest settings and facts. `installed_text` is the text of the settings that the API server has; None if it is
    not known, so that the file's counts.
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
        self._metrics = metrics
        self._cap: Cap = _NO_CAP
        self._unknown_cap: str | None = None
        self._facts_digest = FactsDigest()
        self._digests = {"facts": finished(self._facts_digest.of(facts))}
        self._generations = {"settings": 1, "facts": 1}
        self._warnings = ClusterWarnings(log, metrics)
        self.installed_text: bytes | None = None
        self._enforce(Evaluator.of(self._settings, facts))

    def sources(self, settings: File | None, facts: File | None) -> Iterator[ReloadedSource]:
        """The files to read again, each with the function that applies its new content."""
        if settings is not None:
            yield ReloadedSource(
                "settings",
                lambda: self.installed_text or content(settings.path),
                settings.parse,
                self.apply_settings,
                settings.loaded,
            )
        if facts is not None:
            yield ReloadedSource("facts", lambda: content(facts.path), facts.parse, self.apply_facts_file, facts.loaded)

    def describe(self, what: str) -> str:
        """The settings or the facts in force, in a form in which people compare replicas."""
        version = f"{shown(self._digests[what])}, generation {self._generations[what]}"
        is_capped = what == "settings" and self._cap != _NO_CAP
        return f"{version}, mode capped to {self._cap}" if is_capped else version

    def cap_mode(self, mode: str | None) -> None:
        """Cap the mode everywhere, at once; None lifts the cap. An unknown mode is logged once and changes nothing."""
        wanted = _NO_CAP if mode is None else mode
        if wanted not in MODES:
            if wanted != self._unknown_cap:
                self._unknown_cap = wanted
                allowed = ", ".join(MODES[:-1])
                self._log.event("error", "unknown mode cap ignored", mode=wanted, allowed=allowed, cap=self._cap)
            return
        self._unknown_cap = None
        if wanted == self._cap:
            return
        before, self._cap = self._cap, wanted
        if wanted == _NO_CAP:
            self._log.event("info", "mode no longer capped", before=before)
        else:
            self._log.event("warning", "mode capped", cap=wanted, before=before)
        self._enforce(self.evaluator)

    async def apply_settings(self, configuration: Configuration) -> None:
        """Apply new settings. Those that need a restart are logged and stay as they are."""
        for key in fixed(self._started_with, configuration):
            self._log.event("warning", "setting takes effect after a restart", key=key)
        settings = changeable(self._started_with, configuration)
        # `webhook.cluster.nodes` has not selected the nodes that it keeps by these.
        known = {resource.name for resource in self._started_with.settings.resources}
        new = (resource.name for resource in settings.resources if resource.name not in known)
        unread = [name for name in new if not name.startswith(DOMAIN)]
        if unread and settings.facts.nodes:
            self._log.event("warning", "nodes with new resources are read after a restart", resources=unread)
        if settings == self._settings and self._built == self._changes:
            return
        self._settings = settings
        await self._replace_snapshot()

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
            digest = await _in_steps(self._facts_digest.of(built.snapshot.facts))
            self._built = building
            self._generations["settings"] += built.snapshot.settings != self.evaluator.snapshot.settings
            self._generations["facts"] += digest != self._digests["facts"]
            self._digests["facts"] = digest
            self._enforce(built)

    def _enforce(self, evaluator: Evaluator) -> None:
        """Put an evaluator in force under the cap."""
        self.evaluator = evaluator.capped(self._cap)
        self._warnings.observe(evaluator.snapshot)
        self._digests["settings"] = settings_digest(evaluator.snapshot.settings, self._cap)
        self._metrics.generation.set(self._generations["settings"])
        for what, digest in self._digests.items():
            self._metrics.digest.labels(what).set(digest)
        for mode in MODES[:-1]:
            self._metrics.mode_cap.labels(mode).set(mode == self._cap)


async def _in_steps(steps: Steps[Made]) -> Made:
    """The result of steps, with room for the other tasks of the loop after each."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Made = end.value
            return made
        await next_turn()


_BYTES: Final = 6
_MASK: Final = 2 ** (8 * _BYTES) - 1
_BATCH: Final = 100
"""Objects that are digested in one go: 100 nodes with 40 labels each take two milliseconds."""

_encoder: Final = msgspec.json.Encoder(order="deterministic", enc_hook=dict)  # for mappings that are no dict


def settings_digest(settings: Settings, cap: Cap) -> int:
    """The digest of the policy's settings under a cap."""
    return _digest([write(settings), cap])


def shown(digest: int) -> str:
    """The digest as people compare it."""
    return f"{digest:0{2 * _BYTES}x}"


class FactsDigest:
    """The digest of facts. Only objects that the last facts did not have cost more than a look-up."""

    def __init__(self) -> None:
        # By part and identity, because looking up an object by its value would cost as much as its digest. The object
        # stays in the value, so that no other one gets its identity.
        self._known: dict[tuple[str, int], tuple[Any, int]] = {}

    def of(self, facts: Facts) -> Steps[int]:
        """The digest, made in steps: the sum of the digests of all objects, which does not depend on their order."""
        known: dict[tuple[str, int], tuple[Any, int]] = {}
        total = 0
        for number, (part, value) in enumerate(_objects(facts)):
            key = part, id(value)
            known[key] = entry = self._known.get(key) or (value, _digest([part, value]))
            total += entry[1]
            if number % _BATCH == _BATCH - 1:
                yield
        self._known = known
        return total & _MASK


def _objects(facts: Facts) -> Iterator[tuple[str, Any]]:
    """The objects of the known parts, each with the name of its part; None stands for the part itself.

    So a part that is known to be empty differs from an unknown one.
    """
    for part in fields(facts):
        value = getattr(facts, part.name)
        if isinstance(value, tuple):
            yield part.name, None
            for each in value:
                yield part.name, each
        elif value is not None:
            yield part.name, value


def _digest(content: list[Any]) -> int:
    return int.from_bytes(sha256(_encoder.encode(content)).digest()[:_BYTES])


_NAMED: Final = 20
"""Names in a log line."""


@dataclass(eq=False, slots=True)
class ClusterWarnings:
    """Nodes of which it is unknown how they share their cards, and shared resources that a DeviceClass serves."""

    log: EventLog
    metrics: Metrics
    _unknown: Sequence[str] = ()
    _served: tuple[Sequence[str], bool] = (), False
    _recently: Recently = field(default_factory=Recently)

    def observe(self, snapshot: Snapshot) -> None:
        nodes, log = snapshot.nodes, self.log.event
        unknown = tuple(node.name for node in nodes.index.nodes(nodes.index.unknown))
        shared = (resource.name for resource in snapshot.settings.resources if resource.kind == "shared")
        served = tuple(name for name in shared if name in nodes.dynamic)
        only_warns = bool(served) and not nodes.known
        self.metrics.unknown_nodes.set(len(unknown))
        self.metrics.served_dynamically.set(len(served))
        if unknown != self._unknown and self._recently.new([sha256("\n".join(unknown).encode()).hexdigest()]):
            if unknown:
                reason = (
                    "no label shows how they share their cards, or they have more labels, taints or resources than are "
                    "kept"
                )
                log("warning", "nodes of unknown class", names=unknown[:_NAMED], count=len(unknown), reason=reason)
            else:
                log("info", "no node of unknown class is left")
        if (served, only_warns) != self._served:
            if served:
                limits = (
                    "warn, unless the pod requires nodes that share" if only_warns else "deny where a known node shares"
                )
                log("warning", "a DeviceClass serves shared resources", resources=served, limits=limits)
            else:
                log("info", "no DeviceClass serves a shared resource any more")
        self._unknown, self._served = unknown, (served, only_warns)
