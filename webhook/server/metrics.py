"""Metrics, prefix `gpushare_webhook_`. Label values are bounded, and children are looked up once."""

from __future__ import annotations

from functools import cache

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
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        reviews = Counter(f"{_PREFIX}_reviews", "Reviews answered.", ["hook", "decision"], registry=registry)
        findings = Counter(f"{_PREFIX}_findings", "Findings.", ["hook", "code", "severity"], registry=registry)
        seconds = Histogram(
            f"{_PREFIX}_review_seconds", "Time to answer a review.", ["hook"], buckets=_BUCKETS, registry=registry
        )
        refused = Counter(
            f"{_PREFIX}_refused_requests", "Requests answered with an error.", ["code"], registry=registry
        )
        self.in_flight = Gauge(f"{_PREFIX}_in_flight", "Reviews whose bytes have arrived.", registry=registry)
        self.connections = Gauge(f"{_PREFIX}_connections", "Connections of the review listener.", registry=registry)
        self.shed = Counter(f"{_PREFIX}_shed", "Reviews answered with 503.", ["reason"], registry=registry)
        self.loop_lag = Histogram(
            f"{_PREFIX}_loop_lag_seconds", "How late the event loop is.", buckets=_LAGS, registry=registry
        )
        self.stalls = Counter(f"{_PREFIX}_loop_stalls", "Stalls of more than a second.", ["cause"], registry=registry)
        self.flaws = Counter(f"{_PREFIX}_patch_proof_failures", "Patches that failed their proof.", registry=registry)
        self.unmutated = Counter(
            f"{_PREFIX}_unmutated", "Pods that reached /validate without the edits.", registry=registry
        )
        self.dropped = Counter(f"{_PREFIX}_journal_dropped", "Journal lines without room.", registry=registry)
        self.expiry = Gauge(
            f"{_PREFIX}_certificate_expiry_seconds", "When a certificate ends, Unix time.", ["kind"], registry=registry
        )
        self.generation = Gauge(f"{_PREFIX}_settings_generation", "How often settings were read.", registry=registry)
        Gauge(f"{_PREFIX}_build", "1, with the version.", ["version"], registry=registry).labels(__version__).set(1)
        closed = Counter(
            f"{_PREFIX}_closed_connections", "Connections that were closed on a client.", ["reason"], registry=registry
        )
        reloads = Counter(f"{_PREFIX}_reloads", "Changes of files.", ["what", "result"], registry=registry)
        for counter, values in (
            (self.shed, ("in-flight", "late", "memory", "closing")),
            (self.stalls, ("loop", "process")),
            (closed, ("handshake", "header", "unread answer", "evicted")),
        ):
            for value in values:
                counter.labels(value)  # so that a rate over the first one is no gap
        self._closed = cache(closed.labels)
        self._reloads = cache(reloads.labels)
        self._review = cache(reviews.labels)
        self._finding = cache(findings.labels)
        self._seconds = {hook: seconds.labels(hook.label) for hook in Hook}
        self._refused = cache(refused.labels)

    def observe(self, hook: Hook, outcome: Outcome, seconds: float) -> None:
        """Count one answered review."""
        decision = outcome.verdict.decision.label
        self._review(hook.label, decision).inc()
        self._seconds[hook].observe(seconds)
        for finding in outcome.verdict.findings:
            self._finding(hook.label, finding.code, finding.severity.label).inc()
            if finding.code == "GPS019":
                self.unmutated.inc()
        if outcome.flaw is not None:
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
