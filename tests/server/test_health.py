"""The health port: probes, and metrics with the names and labels that dashboards rely on."""

from __future__ import annotations

import json
import math
import re
from http import HTTPStatus
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from prometheus_client.parser import text_string_to_metric_families

from tests.project.repository import ROOT
from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.reviews import pod, review
from tests.server.within import Running, running
from webhook import __version__
from webhook.admission import Hook, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings
from webhook.server import limits
from webhook.server.lifecycle import Phase
from webhook.server.metrics import Metrics

INJECTED = {"runtimeClass": 2, "pipeDirectory": 2, "pipeMount": 1, "tolerations": 2}
"""Pods by injection: two are changed, one of them in a namespace that does not allow the mount."""


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample by its name and labels."""
    return {
        (sample.name.removeprefix("gpushare_webhook_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


WELL = (200, b"ok\n")
UNKNOWN = (404, b"not found; see /livez, /readyz and /metrics\n")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        *((path, WELL) for path in ("/livez", "/readyz", "/livez?verbose")),
        *((path, UNKNOWN) for path in ("/", "/mutate", "/readyz/", "/healthz")),
    ],
)
def test_probes_of_serving_server(client: Client, path: str, answer: tuple[int, bytes]) -> None:
    found = client.health(path)
    assert (found.status, found.body) == answer
    assert found.headers["server"] == "gpushare-webhook"


@pytest.mark.parametrize(
    ("method", "status", "allow"),
    [*((method, 405, "GET, HEAD") for method in ("POST", "PUT", "DELETE")), ("HEAD", 200, None)],
)
def test_methods_of_probes(client: Client, method: str, status: int, allow: str | None) -> None:
    answered = client.health("/readyz", method)
    assert (answered.status, answered.headers.get("allow")) == (status, allow)


def test_readyz_verbose_lists_conditions(client: Client) -> None:
    lines = client.health("/readyz?verbose").body.decode().splitlines()
    assert (lines[:2], lines[-1]) == (["[+]listening", "[+]not stopping"], "ok")


def test_readyz_verbose_shows_digests_that_metrics_have(client: Client) -> None:
    shown = re.findall(r"\[ \](\w+): ([0-9a-f]{12}), generation 1\n", client.health("/readyz?verbose").body.decode())
    measured = values(client.metrics())
    assert [what for what, _ in shown] == ["settings", "facts"]
    assert [measured["digest", (("of", what),)] for what, _ in shown] == [int(digest, 16) for _, digest in shown]


async def test_draining_server_is_not_ready(certificates: Certificates) -> None:
    async with running(certificates) as server:
        server.server.lifecycle.enter(Phase.DRAINING)
        unready = await server.ask(server.client.health, "/readyz?verbose")
        alive = await server.ask(server.client.health, "/livez")
    lines = unready.body.decode().splitlines()
    assert (unready.status, lines[:2], lines[-1]) == (503, ["[+]listening", "[-]not stopping"], "not ready")
    assert alive.status == 200


def labelled(name: str) -> set[str]:
    """The values of the only label of a counter before any event."""
    return {
        value
        for (sample, labels), count in values(Metrics().text().decode()).items()
        if sample == f"{name}_total" and count == 0
        for _, value in labels
    }


def test_counters_of_known_labels_start_at_zero() -> None:
    source = "".join(file.read_text() for file in sorted((ROOT / "webhook" / "server").rglob("*.py")))
    statuses = {str(HTTPStatus[name].value) for name in re.findall(r"HTTPStatus\.(\w+)", source)}
    assert labelled("refused_requests") == statuses - {"200"}
    assert labelled("shed") == set(re.findall(r"""OverloadedError\(['"]([\w-]+)""", source))
    assert labelled("loop_stalls") == set(re.findall(r"""_report\(['"](\w+)""", source))
    assert labelled("certificate_events") == {"writes", "conflicts", "failures", "rotations"}
    assert len([key for key in values(Metrics().text().decode()) if key[0] == "reviews_total"]) == 6


@pytest.mark.parametrize(("limit", "exported"), [(3 * 2**28, 3 * 2**28), (None, math.inf)])
async def test_memory_limit_is_exported(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, limit: int | None, exported: float
) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: limit)
    async with running(certificates) as server:
        assert (await measured(server))["memory_limit_bytes", ()] == exported


async def test_reviews_and_findings_are_counted(certificates: Certificates) -> None:
    async with running(certificates) as server:
        before = await measured(server)
        await server.ask(server.client.review, "/mutate", review(pod()))
        await server.ask(server.client.review, "/mutate", review(pod(2)))
        await server.ask(server.client.review, "/mutate/without-hostpath", review(pod()))
        await server.ask(server.client.review, "/validate", review(pod()))
        await server.ask(server.client.post, "/nowhere", b"")
        await server.ask(server.client.post, "/mutate", b"{")
        after = await measured(server)
    changed = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
    ours = {key: value for key, value in changed.items() if key[0].endswith("total") and "process" not in key[0]}
    injected = {("injections_total", (("injection", name), ("mode", "on"))): count for name, count in INJECTED.items()}
    assert ours == injected | {
        ("reviews_total", (("decision", "allowed"), ("hook", "mutate"))): 2,
        ("reviews_total", (("decision", "denied"), ("hook", "mutate"))): 1,
        ("reviews_total", (("decision", "warned"), ("hook", "validate"))): 1,
        finding("GPS001", "mutate", "deny"): 1,
        finding("GPS019", "validate", "warn"): 1,
        ("unmutated_total", ()): 1,
        ("refused_requests_total", (("code", "404"),)): 1,
        ("refused_requests_total", (("code", "400"),)): 1,
    }
    assert changed["review_seconds_count", (("hook", "mutate"),)] == 3
    assert changed["review_seconds_count", (("hook", "validate"),)] == 1


def finding(code: str, hook: str, severity: str, namespace: str = "team-a") -> tuple[str, tuple[tuple[str, str], ...]]:
    """The sample of a finding."""
    return "findings_total", (("code", code), ("hook", hook), ("namespace", namespace), ("severity", severity))


class Findings:
    """Metrics of findings, under a clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("webhook.server.metrics.monotonic", lambda: self.now)
        self._metrics = Metrics()
        self._outcome = respond(json.dumps(review(pod(2))).encode(), Hook.MUTATE, Evaluator.of(Settings()))

    def observe(self, *namespaces: str) -> None:
        """Count a review with one finding in each of these namespaces."""
        for name in namespaces:
            self._outcome.request = msgspec.structs.replace(self._outcome.request, namespace=name)
            self._metrics.observe(Hook.MUTATE.label, self._outcome, 0.001)

    @property
    def counts(self) -> dict[str, float]:
        """The number of findings by the label of the namespace."""
        found = values(self._metrics.text().decode())
        return {dict(labels)["namespace"]: count for (name, labels), count in found.items() if name == "findings_total"}


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Findings:
    return Findings(monkeypatch)


MADE_UP = [f"made-up-{number}" for number in range(50)]


def test_findings_name_fifty_namespaces(findings: Findings) -> None:
    """Names that no namespace can have are counted together, as is a namespace that is called `other`."""
    findings.observe(*MADE_UP[:49], "x" * 64, "y" * 100_000, "a\nb", 'a"b', "Team", "other", "", MADE_UP[49])
    assert findings.counts == dict.fromkeys(MADE_UP, 1.0) | {"other": 6.0, "": 1.0}


def test_namespace_that_fails_more_often_replaces_the_rarest(findings: Findings) -> None:
    findings.observe(*MADE_UP, *["real-team"] * 4)
    assert findings.counts == dict.fromkeys(MADE_UP[1:], 1.0) | {"other": 1.0, "real-team": 3.0}


def test_ten_thousand_made_up_namespaces_leave_frequent_ones_named(findings: Findings) -> None:
    teams = [f"team-{number}" for number in range(49)]
    findings.observe(*teams, *teams)
    before = 0.0
    for number in range(10_000):
        findings.observe(f"one-off-{number}")
        if number % 1_000 == 0:
            counts = findings.counts
            assert len(counts) <= 51
            assert counts.get("other", 0.0) >= before
            before = counts.get("other", 0.0)
    assert findings.counts.items() >= dict.fromkeys(teams, 2.0).items()


def test_namespaces_that_failed_long_ago_make_room(findings: Findings) -> None:
    findings.observe(*MADE_UP * 1_000, "team-a")
    assert "team-a" not in findings.counts
    findings.now = 12 * 3600.0
    findings.observe("team-a", "team-b")
    counts = findings.counts
    assert counts["team-a"] == counts["team-b"] == 1.0
    assert counts["other"] == 1.0


async def measured(server: Running) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return values(await server.ask(server.client.metrics))


def test_certificate_expiry_and_build_metrics(client: Client, certificates: Certificates) -> None:
    measured = values(client.metrics())
    leaf = x509.load_pem_x509_certificate(Path(certificates.certificate).read_bytes())
    expiry = measured["certificate_expiry_seconds", (("kind", "leaf"),)]
    assert expiry == leaf.not_valid_after_utc.timestamp()
    assert measured["build", (("version", __version__),)] == 1
    assert measured["settings_generation", ()] == 1


def test_label_values_are_bounded(client: Client) -> None:
    for odd in ("x1", "x2"):
        client.review(f"/{odd}", review(pod()))
        client.review("/mutate", review(pod(), operation=odd, namespace=odd, name=odd))
    assert re.search("x[12]", client.metrics()) is None
