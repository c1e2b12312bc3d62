"""Metrics, prefix `gpushare_webhook_`. Label values are bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from webhook import __version__
from webhook.admission import Hook, Outcome
from webhook.policy.injections import ALL as INJECTIONS
from webhook.policy.rules import NAMESPACE_NAME
from webhook.policy.verdict import UNTOUCHED, Decision
from webhook.server import limits

if TYPE_CHECKING:
    from webhook.cluster.live_facts import LiveSource

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series without adding information

_Tally: TypeAlias = dict[tuple[str, ...], int]
_PREFIX = "gpushare_webhook"
_LAG_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its type, its name without the prefix, its help text, its labels and buckets."""

    kind: type[Counter | Gauge | Histogram]
    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        return f"{_PREFIX}_{self.name}" + ("_total" if self.kind is Counter else "")

    def create(self, registry: CollectorRegistry) -> Any:
        buckets: dict[str, Any] = {"buckets": self.buckets} if self.buckets else {}
        return self.kind(f"{_PREFIX}_{self.name}", self.help, self.labels, registry=registry, **buckets)


_FINDINGS = Family(
    Counter,
    "findings",
    "Findings of checks. The label names the first 50 namespaces that have some; others are `other`, and objects "
    "without a namespace have an empty label.",
    ("hook", "code", "severity", "namespace"),
)
_ANSWERED = (
    Family(Counter, "reviews", "Reviews answered.", ("hook", "decision")),
    Family(Counter, "findings_suppressed", "Findings that an annotation of their pod suppresses.", ("hook", "code")),
    Family(Counter, "unmutated", "Pods that reached /validate without the edits that /mutate makes."),
    Family(
        Counter,
        "injections",
        "Pods that an injection changed (on), or would have changed (report).",
        ("injection", "mode"),
    ),
)
_SECONDS = Family(Histogram, "review_seconds", "Seconds from a review's arrival to its answer.", ("hook",), _BUCKETS)
_OTHERS = (
    Family(Counter, "patch_proof_failures", "Patches that failed their proof and were not sent."),
    Family(Counter, "refused_requests", "Requests answered with an HTTP error.", ("code",)),
    Family(Counter, "shed", "Reviews answered with 503, which the API server retries.", ("reason",)),
    Family(Gauge, "in_flight", "Reviews queued or being processed."),
    Family(Gauge, "large_reviews", "Reviews over 64 KiB queued or being processed."),
    Family(Gauge, "connections", "Open connections of the review listener."),
    Family(Counter, "closed_connections", "Connections that the server closed because of their client.", ("reason",)),
    Family(Gauge, "large_bodies_bytes", "Bytes of large review bodies in memory."),
    Family(Histogram, "loop_lag_seconds", "Seconds by which the event loop runs behind.", (), _LAG_SECONDS),
    Family(Counter, "loop_stalls", "Stalls of the event loop or the process for more than one second.", ("cause",)),
    Family(Counter, "log_lines_dropped", "Log lines dropped."),
    Family(Gauge, "memory_bytes", "Memory in bytes that the kernel cannot reclaim: without pages of files."),
    Family(Gauge, "memory_limit_bytes", "Memory limit of the container in bytes; +Inf without one."),
    Family(Gauge, "certificate_expiry_seconds", "Time at which a certificate expires, in Unix seconds.", ("kind",)),
    Family(Counter, "certificate_events", "Events of self-managed certificates, such as rotations.", ("what",)),
    Family(
        Counter, "pod_events", "Events about pods: written, dropped because too many waited, or failed.", ("result",)
    ),
    Family(Counter, "reloads", "Changed files, loaded (taken) or rejected (refused).", ("what", "result")),
    Family(Gauge, "settings_generation", "Number of settings versions applied since the start."),
    Family(
        Gauge,
        "mode_cap",
        "1 while an annotation caps the mode to this one, else 0: of everything, or of policies alone.",
        ("mode", "of"),
    ),
    Family(
        Gauge, "digest", "Digest of the settings or facts in force, as a number; equal where they are equal.", ("of",)
    ),
    Family(Gauge, "facts_age_seconds", "Seconds since facts were last confirmed; -1 while unknown.", ("source",)),
    Family(Gauge, "facts_objects", "Objects that the facts in force hold.", ("source",)),
    Family(Gauge, "facts_failing", "1 while facts cannot be read or watched, else 0.", ("source",)),
    Family(
        Gauge,
        "parameters_age_seconds",
        "Seconds since the parameters of policies were last confirmed; -1 while never, 0 without policies.",
    ),
    Family(Gauge, "unknown_nodes", "Known nodes of which it is unknown how they share cards; they count as MPS nodes."),
    Family(
        Gauge, "device_class_resources", "Shared resources that a DeviceClass serves, so that limits may only warn."
    ),
    Family(Gauge, "build", "Always 1; the label is the version.", ("version",)),
)
FAMILIES = (_FINDINGS, *_ANSWERED, _SECONDS, *_OTHERS)
"""All metrics of this server."""

_NAMESPACES = 50
"""Namespaces that are named."""

"""The names that the API server accepts for a namespace: DNS labels (RFC 1123)."""

_KNOWN = {
    "shed": ("in-flight", "late", "slow", "memory", "queue", "gone", "closing"),
    "loop_stalls": ("loop", "process"),
    "certificate_events": ("writes", "conflicts", "failures", "rotations"),
    "pod_events": ("written", "dropped", "failed"),
    "closed_connections": ("handshake", "header", "unread answer", "evicted"),
    "refused_requests": ("400", "403", "404", "405", "408", "413", "415", "417", "500", "503"),
}
"""Label values exported from the start, so that `rate` and `increase` see the first event."""


class _Answered(Collector):
    """The metrics of answered reviews: added up under one lock, and made into samples by a scrape.

    prometheus_client takes a lock and several calls for each sample, which costs twice as much.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds = {hook.label: 0.0 for hook in Hook}
        self._buckets = {hook: [0] * (len(_SECONDS.buckets) + 1) for hook in self._seconds}
        none: _Tally = {(hook, decision.label): 0 for hook, decision in product(self._seconds, Decision)}
        made: _Tally = {(injection.name, mode): 0 for injection, mode in product(INJECTIONS, ("on", "report"))}
        self._tallies: tuple[_Tally, ...] = (none, defaultdict(int), {(): 0}, made)
        self._findings: defaultdict[tuple[str, str, str, str], int] = defaultdict(int)
        self._namespaces = {""}

    def add(self, hook: str, outcome: Outcome, seconds: float) -> None:
        verdict, namespace = outcome.verdict, outcome.request.namespace
        reviews, suppressed, unmutated, made = self._tallies
        bucket = bisect_left(_SECONDS.buckets, seconds)
        with self._lock:
            reviews[hook, verdict.decision.label] += 1
            self._buckets[hook][bucket] += 1
            self._seconds[hook] += seconds
            if verdict is UNTOUCHED:
                return
            label = self._label(namespace) if verdict.counts else ""
            for (code, severity), count in verdict.counts.items():
                self._findings[hook, code, severity.label, label] += count
                if code == "GPS019":
                    unmutated[()] += count
            for code, count in verdict.suppressed.counts.items():
                suppressed[hook, code] += count
            for name in outcome.injected:
                made[name, "on"] += 1
            for name in outcome.reported:
                made[name, "report"] += 1

    def _label(self, namespace: str) -> str:
        """The label of a namespace: its name, or `other` once enough others are named. The caller holds the lock."""
        if namespace in self._namespaces:
            return namespace
        if len(self._namespaces) > _NAMESPACES or not NAMESPACE_NAME.fullmatch(namespace):
            return "other"
        self._namespaces.add(namespace)
        return namespace

    def findings(self) -> bytes:
        """The text of the findings, which may have 8,000 labels: prometheus_client takes 70 ms for them, this takes 4.

        No label has a character that needs an escape.
        """
        with self._lock:
            counted = list(self._findings.items())
        name = _FINDINGS.full_name
        lines = [
            f'{name}{{hook="{hook}",code="{code}",severity="{severity}",namespace="{namespace}"}} {count}.0'
            for (hook, code, severity, namespace), count in counted
        ]
        return "\n".join([f"# HELP {name} {_FINDINGS.help}", f"# TYPE {name} counter", *lines, ""]).encode()

    def collect(self) -> list[Metric]:
        bounds = (*map(str, _SECONDS.buckets), "+Inf")
        seconds = HistogramMetricFamily(_SECONDS.full_name, _SECONDS.help, labels=_SECONDS.labels)
        with self._lock:
            for hook, buckets in self._buckets.items():
                seconds.add_metric([hook], list(zip(bounds, accumulate(buckets), strict=True)), self._seconds[hook])
            return [*map(_counted, _ANSWERED, self._tallies), seconds]


def _counted(family: Family, tally: _Tally) -> Metric:
    metric = CounterMetricFamily(family.full_name, family.help, labels=family.labels)
    for labels, count in tally.items():
        metric.add_metric(labels, count)
    return metric


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answered = _Answered()
        self.registry.register(self._answered)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        made = {family.name: family.create(self.registry) for family in _OTHERS}
        for name, values in _KNOWN.items():
            for value in values:
                made[name].labels(value)
        made["build"].labels(__version__).set(1)
        made["memory_bytes"].set_function(limits.unreclaimable)
        self.memory_limit: Gauge = made["memory_limit_bytes"]
        self.memory_limit.set(inf)
        self.flaws: Counter = made["patch_proof_failures"]
        self.shed: Counter = made["shed"]
        self.in_flight: Gauge = made["in_flight"]
        self.large: Gauge = made["large_reviews"]
        self.connections: Gauge = made["connections"]
        self.held: Gauge = made["large_bodies_bytes"]
        self.loop_lag: Histogram = made["loop_lag_seconds"]
        self.stalls: Counter = made["loop_stalls"]
        self.dropped: Counter = made["log_lines_dropped"]
        self.expiry: Gauge = made["certificate_expiry_seconds"]
        self.certificates: Counter = made["certificate_events"]
        self.generation: Gauge = made["settings_generation"]
        self.mode_cap: Gauge = made["mode_cap"]
        self.digest: Gauge = made["digest"]
        self.parameters_age: Gauge = made["parameters_age_seconds"]
        self.unknown_nodes: Gauge = made["unknown_nodes"]
        self.served_dynamically: Gauge = made["device_class_resources"]
        self._facts = tuple(made[name] for name in ("facts_age_seconds", "facts_objects", "facts_failing"))
        self._closed = cache(made["closed_connections"].labels)
        self._reloads = cache(made["reloads"].labels)
        self.events = cache(made["pod_events"].labels)
        self._refused = cache(made["refused_requests"].labels)

    def observe(self, hook: Hook, outcome: Outcome, seconds: float) -> None:
        """Count one answered review. Any thread may call this."""
        self._answered.add(hook.label, outcome, seconds)
        if outcome.proof_failure is not None:
            self.flaws.inc()

    def watch_facts(self, source: LiveSource) -> None:
        age, objects, failing = (family.labels(source.name) for family in self._facts)
        age.set_function(lambda: -1 if source.age is None else source.age)
        objects.set_function(lambda: source.count)
        failing.set_function(lambda: source.failing)

    def refuse(self, status: int) -> None:
        self._refused(str(status)).inc()

    def close(self, reason: str) -> None:
        """Count one connection that the server closed because of its client."""
        self._closed(reason).inc()

    def expect(self, what: str) -> None:
        """Export the counts of a reloaded file from the start."""
        for result in ("taken", "refused"):
            self._reloads(what, result)

    def reloaded(self, what: str, result: str) -> None:
        """Count one changed file: `result` is taken or refused."""
        self._reloads(what, result).inc()

    def text(self) -> bytes:
        return generate_latest(self.registry) + self._answered.findings()
