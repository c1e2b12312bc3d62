"""Metrics, prefix `gpushare_webhook_`. Label values are bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from itertools import accumulate, product
from math import inf
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from webhook import __version__
from webhook.admission import Hook, Outcome
from webhook.policy.injections import ALL as INJECTIONS
from webhook.policy.snapshot import NAMESPACE_NAME
from webhook.policy.verdict import UNTOUCHED, Decision
from webhook.server import limits
from webhook.server.errors import REASONS

if TYPE_CHECKING:
    from webhook.cluster.facts import LiveSource

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series without adding information

Made = TypeVar("Made", Counter, Gauge, Histogram)

_Tally: TypeAlias = dict[tuple[str, ...], int]
_LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Family(NamedTuple):
    """One metric: its type, its name, its help text, and its labels."""

    kind: str
    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def head(self) -> list[str]:
        return [f"# HELP {self.name} {self.help}", f"# TYPE {self.name} {self.kind}"]


_COUNTERS = (
    Family(
        "counter",
        "gpushare_webhook_findings_total",
        "Findings of checks. The label names the 50 namespaces that have had them most often of late; others are "
        "`other`, and objects without a namespace have an empty label.",
        ("hook", "code", "severity", "namespace"),
    ),
    Family("counter", "gpushare_webhook_reviews_total", "Reviews answered.", ("decision", "hook")),
    Family(
        "counter",
        "gpushare_webhook_unmutated_total",
        "Pods that reached /validate without the edits that /mutate makes.",
    ),
    Family(
        "counter",
        "gpushare_webhook_injections_total",
        "Pods that an injection changed (on), or would have changed (report).",
        ("injection", "mode"),
    ),
)
_SECONDS = Family(
    "histogram", "gpushare_webhook_review_seconds", "Seconds from a review's arrival to its answer.", ("hook",)
)

_NAMESPACES = 50
"""Namespaces that are named."""

_HALF_LIFE = 3600.0
"""Seconds after which a review with findings counts half for the choice of these."""


class _Answered:
    """The metrics of answered reviews: added up under one lock, and made into text by a scrape.

    prometheus_client takes a lock and several calls for each sample, which costs a review twice as much, and a scrape
    70 ms instead of 4 for the findings, which may have 8,000 labels.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds = {hook.label: 0.0 for hook in Hook}
        self._buckets = {hook: [0] * (len(_BUCKETS) + 1) for hook in self._seconds}
        none: _Tally = {(decision.label, hook): 0 for hook, decision in product(self._seconds, Decision)}
        made: _Tally = {(injection.name, mode): 0 for injection, mode in product(INJECTIONS, ("on", "report"))}
        self._tallies: tuple[_Tally, ...] = (none, {(): 0}, made)
        self._findings: defaultdict[str, defaultdict[tuple[str, str, str], int]] = defaultdict(lambda: defaultdict(int))
        self._weighed = monotonic()
        self._weights: dict[str, int] = {}

    def add(self, hook: str, outcome: Outcome, seconds: float) -> None:
        """Count one answered review. Any thread may call this."""
        verdict, namespace = outcome.verdict, outcome.request.namespace
        reviews, unmutated, made = self._tallies
        bucket = bisect_left(_BUCKETS, seconds)
        with self._lock:
            reviews[verdict.decision.label, hook] += 1
            self._buckets[hook][bucket] += 1
            self._seconds[hook] += seconds
            if verdict is UNTOUCHED:
                return
            findings = self._findings[self._label(namespace)] if verdict.counts else {}
            for (code, severity), count in verdict.counts.items():
                findings[hook, code, severity.label] += count
                if code == "GPS019":
                    unmutated[()] += count
            for name in outcome.injected:
                made[name, "on"] += 1
            for name in outcome.reported:
                made[name, "report"] += 1

    def _label(self, namespace: str) -> str:
        """The label of a namespace with findings: its name, or `other`. The caller holds the lock.

        Reviews of other namespaces lower the weight of the lightest named one, which makes room when it has none, so
        that made-up names compete for one place. The series of a namespace that makes room ends: if its findings moved
        to `other`, `rate` would count them twice.
        """
        weights = self._weights
        halvings = int((monotonic() - self._weighed) / _HALF_LIFE)
        if halvings:
            self._weighed += halvings * _HALF_LIFE
            self._weights = weights = {name: weight >> halvings for name, weight in weights.items()}
        if namespace not in weights:
            if not namespace:
                return namespace
            if namespace == "other" or not NAMESPACE_NAME.fullmatch(namespace):
                return "other"
            if len(weights) == _NAMESPACES:
                lightest = min(weights, key=weights.__getitem__)
                if weights[lightest]:
                    weights[lightest] -= 1
                    return "other"
                del weights[lightest], self._findings[lightest]
        weights[namespace] = weights.get(namespace, 0) + 1
        return namespace

    def text(self) -> bytes:
        """The exposition. No label has a character that needs an escape."""
        with self._lock:
            rows: list[list[tuple[str | int, ...]]] = [
                [
                    (*labels, namespace, count)
                    for namespace, counts in self._findings.items()
                    for labels, count in counts.items()
                ]
            ]
            rows += ([(*labels, count) for labels, count in tally.items()] for tally in self._tallies)
            seconds = [(hook, total, list(accumulate(self._buckets[hook]))) for hook, total in self._seconds.items()]
        lines: list[str] = []
        for family, counted in zip(_COUNTERS, rows, strict=True):
            labels = ",".join(f'{label}="%s"' for label in family.labels)
            sample = family.name + (f"{{{labels}}}" if labels else "") + " %d.0"
            lines += [*family.head, *[sample % row for row in counted]]
        name = _SECONDS.name
        lines += _SECONDS.head
        for hook, total, counts in seconds:
            buckets = zip((*_BUCKETS, "+Inf"), counts, strict=True)
            lines += [f'{name}_bucket{{hook="{hook}",le="{bound}"}} {count}.0' for bound, count in buckets]
            lines += [f'{name}_count{{hook="{hook}"}} {counts[-1]}.0', f'{name}_sum{{hook="{hook}"}} {total}']
        return "\n".join([*lines, ""]).encode()


class Metrics:
    """The metrics of one server, in a registry of their own. `families` describes all of them."""

    def __init__(self) -> None:
        self.families = [*_COUNTERS, _SECONDS]
        self.registry = CollectorRegistry()
        self._answered = _Answered()
        self.observe = self._answered.add
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        counter, gauge = partial(self._create, Counter), partial(self._create, Gauge)
        self.proof_failures = counter("patch_proof_failures", "Patches that failed their proof and were not sent.")
        self.refused = counter(
            "refused_requests",
            "Requests answered with an HTTP error.",
            "code",
            expected=REASONS,
        )
        self.shed = counter(
            "shed",
            "Reviews answered with 503, which the API server retries.",
            "reason",
            expected=("in-flight", "late", "slow", "memory", "queue", "gone", "closing"),
        )
        self.in_flight = gauge("in_flight", "Reviews queued or being processed.")
        self.large_reviews = gauge("large_reviews", "Reviews over 64 KiB queued or being processed.")
        self.connections = gauge("connections", "Open connections of the review listener.")
        self.closed = counter(
            "closed_connections",
            "Connections that the server closed because of their client.",
            "reason",
            expected=("handshake", "header", "unread answer", "evicted"),
        )
        self.large_bodies = gauge("large_bodies_bytes", "Bytes of large review bodies in memory.")
        self.loop_lag = self._create(
            Histogram, "loop_lag_seconds", "Seconds by which the event loop runs behind.", buckets=_LAG_SECONDS
        )
        self.stalls = counter(
            "loop_stalls",
            "Stalls of the event loop or the process for more than one second.",
            "cause",
            expected=("loop", "process"),
        )
        self.dropped = counter("log_lines_dropped", "Log lines dropped.")
        gauge("memory_bytes", "Memory in bytes that the kernel cannot reclaim: without pages of files.").set_function(
            limits.unreclaimable
        )
        self.memory_limit = gauge("memory_limit_bytes", "Memory limit of the container in bytes; +Inf without one.")
        self.memory_limit.set(inf)
        self.expiry = gauge(
            "certificate_expiry_seconds", "Time at which a certificate expires, in Unix seconds.", "kind"
        )
        self.certificates = counter(
            "certificate_events",
            "Events of self-managed certificates, such as rotations.",
            "what",
            expected=("writes", "conflicts", "failures", "rotations"),
        )
        self.reloads = counter("reloads", "Changed files, loaded (taken) or rejected (refused).", "what", "result")
        self.generation = gauge("settings_generation", "Number of settings versions applied since the start.")
        self.mode_cap = gauge("mode_cap", "1 while an annotation caps the mode to this one, else 0.", "mode")
        self.digest = gauge(
            "digest", "Digest of the settings or facts in force, as a number; equal where they are equal.", "of"
        )
        self._facts_age = gauge(
            "facts_age_seconds", "Seconds since facts were last confirmed; -1 while unknown.", "source"
        )
        self._facts_objects = gauge("facts_objects", "Objects that the facts in force hold.", "source")
        self._facts_failing = gauge("facts_failing", "1 while facts cannot be read or watched, else 0.", "source")
        self.unknown_nodes = gauge(
            "unknown_nodes", "Known nodes of which it is unknown how they share cards; they count as MPS nodes."
        )
        self.served_dynamically = gauge(
            "device_class_resources", "Shared resources that a DeviceClass serves, so that limits may only warn."
        )
        gauge("build", "Always 1; the label is the version.", "version").labels(__version__).set(1)

    def _create(
        self, kind: type[Made], name: str, text: str, *labels: str, expected: Iterable[object] = (), **options: Any
    ) -> Made:
        """Create a metric. `rate` and `increase` see the first event of the values that are expected of its label."""
        full_name = f"gpushare_webhook_{name}{'_total' if kind is Counter else ''}"
        self.families.append(Family(kind.__name__.lower(), full_name, text, labels))
        made = kind(full_name, text, labels, registry=self.registry, **options)
        for value in expected:
            made.labels(value)
        return made

    def watch_facts(self, source: LiveSource) -> None:
        name = source.part.name
        self._facts_age.labels(name).set_function(lambda: -1 if source.age is None else source.age)
        self._facts_objects.labels(name).set_function(lambda: source.count)
        self._facts_failing.labels(name).set_function(lambda: source.failing)

    def text(self) -> bytes:
        return self._answered.text() + generate_latest(self.registry)
