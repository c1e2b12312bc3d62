"""Metrics, prefix `gpushare_webhook_`. Label values are bounded, and children are looked up once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from webhook import __version__
from webhook.admission import Hook, Outcome

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series and tell nothing

_PREFIX = "gpushare_webhook"
_LAGS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its kind, its name without the prefix, what it says, its labels."""

    kind: type[Counter | Gauge | Histogram]
    name: str
    says: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        """The name under which it is scraped."""
        return f"{_PREFIX}_{self.name}" + ("_total" if self.kind is Counter else "")

    def made(self, registry: CollectorRegistry) -> Any:
        """The metric itself."""
        buckets: dict[str, Any] = {"buckets": self.buckets} if self.buckets else {}
        return self.kind(f"{_PREFIX}_{self.name}", self.says, self.labels, registry=registry, **buckets)


FAMILIES = (
    Family(Counter, "reviews", "Reviews answered.", ("hook", "decision")),
    Family(
        Histogram,
        "review_seconds",
        "Time from the arrival of a review to its answer.",
        ("hook",),
        _SECONDS,
    ),
    Family(Counter, "findings", "Findings.", ("hook", "code", "severity")),
    Family(Counter, "unmutated", "Pods that reached /validate without the edits: something failed open."),
    Family(Counter, "patch_proof_failures", "Patches that failed their proof and were not sent."),
    Family(Counter, "refused_requests", "Requests answered with an error of HTTP.", ("code",)),
    Family(Counter, "shed", "Reviews answered with 503, to be asked again.", ("reason",)),
    Family(Gauge, "in_flight", "Reviews whose bytes have arrived."),
    Family(Gauge, "large_reviews", "Reviews over 64 KiB that wait or are processed."),
    Family(Gauge, "connections", "Connections of the review listener."),
    Family(Counter, "closed_connections", "Connections that were closed on their client.", ("reason",)),
    Family(Gauge, "large_bodies_bytes", "Bytes of large reviews in memory."),
    Family(Histogram, "loop_lag_seconds", "How late the event loop is.", (), _LAGS),
    Family(Counter, "loop_stalls", "Stalls of more than a second.", ("cause",)),
    Family(Counter, "journal_dropped", "Lines of the log that were lost."),
    Family(Gauge, "certificate_expiry_seconds", "When a certificate ends, in Unix time.", ("kind",)),
    Family(Counter, "certificate_events", "What was done for self-managed certificates.", ("what",)),
    Family(Counter, "reloads", "Changes of files, taken or refused.", ("what", "result")),
    Family(Gauge, "settings_generation", "How often settings have come into force."),
    Family(Gauge, "facts_age_seconds", "How old facts are; -1 while unknown.", ("source",)),
    Family(Gauge, "build", "1, with the version.", ("version",)),
)
"""All metrics of ours."""

_KNOWN = {
    "shed": ("in-flight", "late", "slow", "memory", "queue", "gone", "closing"),
    "loop_stalls": ("loop", "process"),
    "certificate_events": ("writes", "conflicts", "failures", "rotations"),
    "closed_connections": ("handshake", "header", "unread answer", "evicted"),
}
"""Label values that are there from the start, so that a rate over the first event is no gap."""


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        made = {family.name: family.made(self.registry) for family in FAMILIES}
        for name, values in _KNOWN.items():
            for value in values:
                made[name].labels(value)
        made["build"].labels(__version__).set(1)
        self.unmutated: Counter = made["unmutated"]
        self.flaws: Counter = made["patch_proof_failures"]
        self.shed: Counter = made["shed"]
        self.in_flight: Gauge = made["in_flight"]
        self.large: Gauge = made["large_reviews"]
        self.connections: Gauge = made["connections"]
        self.held: Gauge = made["large_bodies_bytes"]
        self.loop_lag: Histogram = made["loop_lag_seconds"]
        self.stalls: Counter = made["loop_stalls"]
        self.dropped: Counter = made["journal_dropped"]
        self.expiry: Gauge = made["certificate_expiry_seconds"]
        self.certificates: Counter = made["certificate_events"]
        self.generation: Gauge = made["settings_generation"]
        self.facts_age: Gauge = made["facts_age_seconds"]
        self._closed = cache(made["closed_connections"].labels)
        self._reloads = cache(made["reloads"].labels)
        self._review = cache(made["reviews"].labels)
        self._finding = cache(made["findings"].labels)
        self._seconds = {hook: made["review_seconds"].labels(hook.label) for hook in Hook}
        self._refused = cache(made["refused_requests"].labels)

    def observe(self, hook: Hook, outcome: Outcome, seconds: float) -> None:
        """Count one answered review. Any thread may."""
        decision = outcome.verdict.decision.label
        self._review(hook.label, decision).inc()
        self._seconds[hook].observe(seconds)
        for (code, severity), count in outcome.verdict.counts.items():
            self._finding(hook.label, code, severity.label).inc(count)
            if code == "GPS019":
                self.unmutated.inc(count)
        if outcome.proof_failure is not None:
            self.flaws.inc()

    def refuse(self, status: int) -> None:
        """Count one request answered with an error."""
        self._refused(str(status)).inc()

    def close(self, reason: str) -> None:
        """Count one connection that was closed on its client."""
        self._closed(reason).inc()

    def expect(self, what: str) -> None:
        """Show a file's counts from the start."""
        for result in ("taken", "refused"):
            self._reloads(what, result)

    def reloaded(self, what: str, result: str) -> None:
        """Count one change of a file."""
        self._reloads(what, result).inc()

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
