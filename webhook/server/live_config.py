"""What is in force: the snapshot of settings and facts, replaced whole and read once a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import Source, UnusableError
from webhook.settings.configuration import Configuration, changeable, fixed


@dataclass(frozen=True, slots=True)
class File:
    """A file that is read again while the server runs. `parse` makes something of its bytes or raises UnusableError."""

    path: Path
    parse: Callable[[bytes], Any]

    def read(self) -> bytes:
        """Its content. Raises UnusableError."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise UnusableError(f"{self.path}: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class Files:
    """The files that settings and facts came from, where they can be read again."""

    settings: File | None = None
    facts: File | None = None


class LiveConfig:
    """Settings and facts that can change while the server runs. The process's own part of the settings stays."""

    def __init__(self, configuration: Configuration, facts: Facts, log: EventLog, metrics: Metrics) -> None:
        self._started_with = configuration
        self._settings = configuration.settings
        self._facts = facts
        self._live: dict[str, Any] = {}
        self._log = log
        self._generation = metrics.generation
        self._generation.set(1)
        self.evaluator = Evaluator.of(self._settings, facts)

    def sources(self, files: Files) -> Iterator[Source]:
        """What is read from files again."""
        if files.settings is not None:
            yield Source("settings", files.settings.read, files.settings.parse, self.follow)
        if files.facts is not None:
            yield Source("facts", files.facts.read, files.facts.parse, self.know)

    def follow(self, configuration: Configuration) -> None:
        """Put other settings in force; they count as other only where they say something else."""
        for key in fixed(self._started_with, configuration):
            self._log.event("warning", "setting waits for a restart", key=key)
        settings = changeable(self._started_with, configuration)
        if settings == self._settings:
            return
        self._settings = settings
        self._renew()
        self._generation.inc()

    def know(self, facts: Facts) -> None:
        """Put the facts of another facts file in force."""
        self._facts = facts
        self._renew()

    def learn(self, **live: Any) -> None:
        """Put parts of the facts in force that were read from the cluster; they go before those of a file."""
        self._live |= live
        self._renew()

    def _renew(self) -> None:
        self.evaluator = Evaluator.of(self._settings, replace(self._facts, **self._live))
