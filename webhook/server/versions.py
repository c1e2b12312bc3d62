"""Which settings and facts are in force, in a form in which people and alerts compare replicas."""

from __future__ import annotations

from webhook.policy.placement.facts import Facts
from webhook.policy.rules import Cap
from webhook.policy.settings.settings import Settings
from webhook.policy.steps import Steps, finished
from webhook.server.digests import FactsDigest, of_settings, shown
from webhook.server.observe.metrics import Metrics


class Versions:
    """The digests of the settings and the facts in force, and how many versions of each were in force since the start.

    All of it is exported as metrics.
    """

    def __init__(self, settings: Settings, facts: Facts, cap: Cap, metrics: Metrics) -> None:
        self._metrics = metrics
        self._following = FactsDigest()
        self._digests = {"settings": of_settings(settings, cap), "facts": finished(self._following.of(facts))}
        self._generations = {"settings": 1, "facts": 1}
        self._export()

    def describe(self, what: str) -> str:
        """The version of the settings or of the facts, in words."""
        return f"{shown(self._digests[what])}, generation {self._generations[what]}"

    def digesting(self, facts: Facts) -> Steps[int]:
        """The digest of facts that are about to be in force, made in steps."""
        return self._following.of(facts)

    def take_facts(self, digest: int) -> None:
        """Record the digest of the facts that are in force from now on."""
        self._generations["facts"] += digest != self._digests["facts"]
        self._digests["facts"] = digest
        self._export()

    def take_settings(self, settings: Settings, cap: Cap) -> None:
        """Record the settings and the cap that are in force from now on."""
        self._digests["settings"] = of_settings(settings, cap)
        self._export()

    def count_settings(self) -> None:
        """Count a new version of the settings."""
        self._generations["settings"] += 1
        self._export()

    def _export(self) -> None:
        self._metrics.generation.set(self._generations["settings"])
        for what, digest in self._digests.items():
            self._metrics.digest.labels(what).set(digest)
