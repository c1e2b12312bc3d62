"""The active settings and facts: one snapshot, replaced as a whole and read once per request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webhook.diagnostics import Diagnostic, InputError
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.server.reload import Source
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
    """The settings and facts that can change while the server runs. Settings of the process need a restart."""

    def __init__(self, configuration: Configuration, facts: Facts, log: EventLog, metrics: Metrics) -> None:
        self._started_with = configuration
        self._settings = configuration.settings
        self._facts_file = facts
        self._cluster_facts: dict[str, Any] = {}
        self._log = log
        self._generation = metrics.generation
        self._generation.set(1)
        self.evaluator = Evaluator.of(self._settings, facts)

    def sources(self, files: Files) -> Iterator[Source]:
        """The files to watch."""
        if files.settings is not None:
            yield Source(
                "settings", files.settings.read, files.settings.parse, self.apply_settings, files.settings.loaded
            )
        if files.facts is not None:
            yield Source("facts", files.facts.read, files.facts.parse, self.apply_facts_file, files.facts.loaded)

    def apply_settings(self, configuration: Configuration) -> None:
        """Apply new settings. Those that need a restart are logged and stay as they are."""
        for key in fixed(self._started_with, configuration):
            self._log.event("warning", "setting takes effect after a restart", key=key)
        settings = changeable(self._started_with, configuration)
        if settings == self._settings:
            return
        self._settings = settings
        self._replace_snapshot()
        self._generation.inc()

    def apply_facts_file(self, facts: Facts) -> None:
        """Apply the facts of a new facts file."""
        self._facts_file = facts
        self._replace_snapshot()

    def apply_cluster_facts(self, **facts: Any) -> None:
        """Apply fields of the facts that were read from the cluster. They override those of the facts file."""
        self._cluster_facts |= facts
        self._replace_snapshot()

    def _replace_snapshot(self) -> None:
        self.evaluator = Evaluator.of(self._settings, replace(self._facts_file, **self._cluster_facts))
