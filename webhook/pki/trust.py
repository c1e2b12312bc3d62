"""Whether the leaf that a replica serves is trusted: what readiness means."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

from webhook.pki import bundle
from webhook.pki.authority import age
from webhook.pki.objects import ClusterState
from webhook.pki.rotation import Served
from webhook.policy.printable import printable
from webhook.runtime.failure_log import Say
from webhook.runtime.retry import moment

_SEEN = 1.0
"""Seconds in which the API servers see a bundle, by all experience. Only who is not trusted yet waits for them."""

_NAMED = 20
"""Entries that a log line names."""

_NAME = 400
"""Characters of an entry with its path: each has a name of at most 253."""

_YOUNG = timedelta(minutes=1)
"""An authority of that age may have been published a moment ago, by another replica."""


class Trust:
    """Compares the served leaf with what every `caBundle` of ours holds; `trusted` is what came of it last."""

    def __init__(self, host: str, say: Say) -> None:
        self._host = host
        self._say = say
        self._doubted = -inf
        self._found_none = False
        self.trusted = False

    def judge(self, sight: ClusterState, served: Served, now: datetime) -> None:
        """Find out who would refuse the leaf, and say so when that changes."""
        good = {pem for pem in sight.bundles if bundle.verifies(bundle.read(pem), served.certificate, self._host, now)}
        entries = [(found.path, entry) for found in sight.configurations for entry in found.entries]
        refusing = [f"{path} {entry.name}" for path, entry in entries if entry.bundle not in good]
        if refusing or (age(served.issuer, now) < _YOUNG and self._doubted == -inf):
            self._doubted = moment()
        before, self.trusted = self.trusted, not refusing and not self.wait()
        if before and refusing:
            named = [printable(entry, _NAME) for entry in refusing[:_NAMED]]
            self._say("warning", "certificate not trusted", entries=named, count=len(refusing))
        elif self.trusted and not before:
            self._say("info", "certificate trusted", entries=len(entries))
        self._tell_of_none(sight)

    def wait(self) -> float:
        """Seconds until a leaf that nobody refuses counts as trusted; 0 when it does."""
        return 0.0 if self.trusted else max(0.0, self._doubted + _SEEN - moment())

    def _tell_of_none(self, sight: ClusterState) -> None:
        """Say once when there is no configuration at all: then nobody calls, and nobody refuses."""
        before, self._found_none = self._found_none, not sight.configurations
        if self._found_none and not before:
            self._say("warning", "no webhook configuration found")
