"""From an alert to its remedy by its page alone: faults on a real cluster, observed by a real Prometheus."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.hooks import VALIDATING, rejection
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.prometheus import SPEEDUP, prometheus, scaled, state_metrics
from tests.cluster.harness.reader import Reader
from tests.cluster.harness.release import NAME, NAMESPACE, prepared
from tests.cluster.harness.waiting import wait_for
from tests.cluster.workloads import assert_completed
from tests.project.pages import page_block
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.prometheus import Prometheus
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

FAILED_CLOSED = "docs/how-to/alerts/GpushareWebhookFailedClosed.md"
OUT_OF_MEMORY = "docs/how-to/alerts/GpushareWebhookRestarts.md"
DENIALS_RISE = "docs/how-to/alerts/GpushareWebhookDenialsRise.md"
HEALTHY = "pod/gpu-probe created (server dry run)"


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Iterator[Release]:
    """The webhook in the mode in which it cannot correct `caBundle` itself."""
    with prepared(cluster, "existing-secret") as release:
        release.upgrade()
        yield release


@pytest.fixture(scope="module")
def alerts(cluster: Cluster, installed: Release) -> Iterator[Prometheus]:
    """Prometheus with the chart's alerts, as soon as it has the history with which they compare."""
    rules = installed.rendered("prometheusrule.yaml", {"metrics": {"prometheusRule": {"enabled": True}}})
    seen = f"up == 1 and up offset {scaled('10m')} == 1"
    with (
        state_metrics(cluster, NAMESPACE) as states,
        prometheus(cluster, NAMESPACE, rules["spec"]["groups"], states, _day_before()) as running,
    ):
        wait_for("the API server, the replicas and kube-state-metrics", lambda: len(running.query(seen)) == 4)
        yield running


def _day_before() -> str:
    """A day in which a replica admitted six objects a minute, in the time of this Prometheus, as OpenMetrics text."""
    end, step = int(time.time()) - 5, 10
    times = range(end - 27 * 3600 // SPEEDUP, end, step)
    replica = f'namespace="{NAMESPACE}",pod="before"'
    admitted = f'gpushare_webhook_reviews_total{{{replica},hook="validate",decision="allowed"}}'
    denied = f'gpushare_webhook_reviews_total{{{replica},hook="mutate",decision="denied"}}'
    lines = [
        "# TYPE gpushare_webhook_reviews counter",
        *(f"{admitted} {6 * SPEEDUP * step // 60 * count} {moment}" for count, moment in enumerate(times)),
        *(f"{denied} 0 {moment}" for moment in times),
        "# TYPE gpushare_webhook_settings_generation gauge",
        *(f"gpushare_webhook_settings_generation{{{replica}}} 1 {moment}" for moment in times),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def release(installed: Release) -> Iterator[Release]:
    """The same; what a test that fails leaves broken is repaired."""
    yield installed
    installed.upgrade(flags=("--force-conflicts",))


@pytest.fixture
def reader(cluster: Cluster) -> Reader:
    return Reader(cluster)


def _page_of_firing(alerts: Prometheus, alert: str) -> str:
    """Wait until an alert fires, and return the page to which it leads."""
    (page,) = {one["annotations"]["runbook_url"] for one in alerts.wait_firing(alert)}
    return str(page)


def test_rules_run_faster_by_one_factor() -> None:
    assert SPEEDUP == 60
    assert scaled('rate(x{code=~"5..", for="5m"}[10m] offset 1h30m) / 2592000 > 0.5') == (
        'rate(x{code=~"5..", for="5m"}[10000ms] offset 90000ms) / 2592000 > 0.5'
    )


def test_wrong_bundle_leads_from_alert_to_remedy(
    release: Release, alerts: Prometheus, reader: Reader, space: Workspace
) -> None:
    probe = page_block("docs/how-to/alerts/GpushareWebhookFailedClosed.md", "--dry-run=server")
    compare = page_block("docs/how-to/alerts/GpushareWebhookFailedClosed.md", "openssl verify")
    assert reader.succeed(probe).strip() == HEALTHY
    assert "stdin: OK" in reader.succeed(compare)
    (bundle,) = set(release.bundles().values())
    (reader.folder / "ca.crt").write_bytes(bundle)

    _replace_validating_bundle(release)
    wait_for("GPU pods to be rejected", lambda: "failed calling webhook" in rejection(space.cluster, pod("asks")))
    assert _page_of_firing(alerts, "GpushareWebhookFailedClosed") == FAILED_CLOSED
    assert alerts.firing("GpushareWebhookFailedOpen") == []

    assert "x509: certificate signed by unknown authority" in reader.run(probe)
    assert "unable to get local issuer certificate" in reader.run(compare)

    reader.succeed(page_block("docs/how-to/alerts/GpushareWebhookFailedClosed.md", "--set-file"))
    assert reader.succeed(probe).strip() == HEALTHY
    assert_completed(space.start(pod("trains")))
    alerts.wait_resolved("GpushareWebhookFailedClosed")


def _replace_validating_bundle(release: Release) -> None:
    """Put another authority into every entry with the failure policy Fail, as an administrator does by mistake."""
    other = Authority.create("other", datetime.now(UTC), timedelta(days=1)).bundle()
    value = base64.b64encode(other).decode()
    entries = range(len(release.cluster.api.get(f"{VALIDATING}/{NAME}")["webhooks"]))
    changes = [{"op": "replace", "path": f"/webhooks/{one}/clientConfig/caBundle", "value": value} for one in entries]
    release.cluster.api.patch(f"{VALIDATING}/{NAME}", changes, form="json")


def test_rise_of_denials_leads_from_alert_to_rollback(release: Release, alerts: Prometheus, reader: Reader) -> None:
    """A valid change rejects pods that were admitted before."""
    curious = pod("curious", hostPID=True)
    assert rejection(release.cluster, curious) == ""
    release.upgrade({"config": {"severities": {"GPS009": "deny"}}})
    wait_for("GPS009 to reject", lambda: "GPS009" in rejection(release.cluster, curious))
    refused = [rejection(release.cluster, curious) for _ in range(60)]
    assert all("GPS009" in one for one in refused)
    assert _page_of_firing(alerts, "GpushareWebhookDenialsRise") == DENIALS_RISE

    reader.succeed(page_block("docs/how-to/roll-back.md", "helm rollback"))
    wait_for("the former settings", lambda: rejection(release.cluster, curious) == "")
    alerts.wait_resolved("GpushareWebhookDenialsRise")


@pytest.mark.exhaustive
def test_replica_out_of_memory_leads_from_alert_to_remedy(
    release: Release, alerts: Prometheus, reader: Reader, space: Workspace
) -> None:
    """64Mi hold the idle server and small reviews, but not a review of 3 MB."""
    release.upgrade({"resources": {"requests": {"memory": "48Mi"}, "limits": {"memory": "64Mi"}}})
    wait_for("GPU pods to be accepted", lambda: rejection(space.cluster, pod("asks")) == "")

    def killed() -> bool:
        rejection(space.cluster, _large())
        return _restarts(release) > 0

    wait_for("the kernel to kill a replica", killed)
    assert _page_of_firing(alerts, "GpushareWebhookRestarts") == OUT_OF_MEMORY

    shown = reader.succeed(page_block("docs/how-to/alerts/GpushareWebhookRestarts.md", "kubectl describe pods"))
    assert "Reason:       OOMKilled" in shown
    assert '"limits":{"memory":"64Mi"}' in shown
    assert "memory limit too small for the costliest reviews" in shown

    reader.succeed(page_block("docs/how-to/alerts/GpushareWebhookRestarts.md", "--set resources.limits.memory"))
    space.cluster.kubectl(f"--namespace={NAMESPACE}", "rollout", "status", f"deployment/{NAME}", "--timeout=180s")
    assert rejection(space.cluster, _large()) == ""
    assert _restarts(release) == 0
    assert_completed(space.start(pod("trains")))
    alerts.wait_resolved("GpushareWebhookRestarts")


def _large() -> Object:
    """A pod that is almost as large as the API server accepts."""
    return pod("large", container(env=[{"name": f"V{number}", "value": "x" * 250} for number in range(10_000)]))


def _restarts(release: Release) -> int:
    """How often the containers of the replicas were restarted."""
    statuses = [status for one in release.pods() for status in one["status"].get("containerStatuses", ())]
    return sum(status["restartCount"] for status in statuses)
