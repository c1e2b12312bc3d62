"""Whether the API servers trust the certificate that a replica serves: a condition of readiness."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

from webhook.pki import bundle
from webhook.pki.authority import age
from webhook.pki.objects import ClusterState
from webhook.pki.rotation import Served
from webhook.policy.printable import printable
from webhook.runtime.failure_log import LogEvent
from webhook.runtime.retry import monotonic

_SEEN = 1.0
"""Seconds within which API servers usually see a new bundle. Only a replica that is not trusted yet waits for them."""

_NAMED = 20
"""Entries that a log line names."""

_NAME = 400
"""Characters of an entry with its path: each has a name of at most 253."""

_YOUNG = timedelta(minutes=1)
"""The age up to which an authority may have been published only a moment ago, by another replica."""


class Trust:
    """Compares the served certificate with every `caBundle`. `trusted` is the last result."""

    def __init__(self, host: str, log: LogEvent) -> None:
        self._host = host
        self._log = log
        self._rejected = -inf
        self._found_none = False
        self.trusted = False

    def check(self, state: ClusterState, served: Served, now: datetime) -> None:
        """Find the entries that reject the certificate, and log a change of the result."""
        accepting = {
            found.pem
            for found in state.bundles
            if bundle.verifies(found.certificates, served.certificate, self._host, now)
        }
        entries = [(found.path, entry) for found in state.configurations for entry in found.entries]
        rejecting = [f"{path} {entry.name}" for path, entry in entries if entry.bundle not in accepting]
        if rejecting or (age(served.issuer, now) < _YOUNG and self._rejected == -inf):
            self._rejected = monotonic()
        before, self.trusted = self.trusted, not rejecting and not self.wait()
        if before and rejecting:
            named = [printable(entry, _NAME) for entry in rejecting[:_NAMED]]
            self._log("warning", "certificate not trusted", entries=named, count=len(rejecting))
        elif self.trusted and not before:
            self._log("info", "certificate trusted", entries=len(entries))
        self._warn_of_none(state)

    def wait(self) -> float:
        """Seconds until a certificate that no entry rejects counts as trusted; 0 if it does."""
        return 0.0 if self.trusted else max(0.0, self._rejected + _SEEN - monotonic())

    def _warn_of_none(self, state: ClusterState) -> None:
        """Log once that there is no configuration: the API server then calls no webhook, and rejects no certificate."""
        before, self._found_none = self._found_none, not state.configurations
        if self._found_none and not before:
            self._log("warning", "no webhook configuration found")
