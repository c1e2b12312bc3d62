"""Alerts and dashboard use series and labels that exist."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import tools
from tests.chart.render import CHART, FULLNAME, NAMESPACE, WEBHOOK_MODES, of_kind, only
from webhook.server.metrics import Metrics

pytestmark = pytest.mark.slow

# Prometheus adds these to every series that it scrapes.
TARGET = {"job", "instance"}
# And these to those from a pod.
SCRAPED = {*TARGET, "namespace", "pod", "le"}
CONTAINER = {"namespace", "pod", "container"}
# Of the API server (apiserver/pkg/admission/metrics/metrics.go), of kube-state-metrics (docs/metrics/workload), of
# prometheus_client's ProcessCollector, and of Prometheus itself.
OTHERS = {
    "apiserver_admission_webhook_fail_open_count": {"name", "type", *TARGET},
    "apiserver_admission_webhook_rejection_count": {
        *("name", "type", "operation", "error_type", "rejection_code"),
        *TARGET,
    },
    "kube_deployment_spec_replicas": {"namespace", "deployment"},
    "kube_deployment_status_replicas_available": {"namespace", "deployment"},
    "kube_pod_container_status_last_terminated_reason": {*CONTAINER, "reason"},
    "kube_pod_container_status_restarts_total": CONTAINER,
    "process_start_time_seconds": SCRAPED,
    "up": TARGET,
}
SERIES = re.compile(r"\b((?:gpushare_webhook|apiserver|kube|process)_\w+|up)\b(?:\{([^}]*)\})?")


def known() -> dict[str, set[str]]:
    """The labels of every series of the program, by name."""
    found: dict[str, set[str]] = {}
    for family in Metrics().families:
        suffixes = ("_bucket", "_count", "_sum") if family.kind == "histogram" else ("",)
        labels = {*family.labels, *SCRAPED}
        if "namespace" in family.labels:
            labels.add("exported_namespace")  # Prometheus renames a label that the target has too
        found |= {f"{family.name}{suffix}": labels for suffix in suffixes}
    return found | OTHERS


def alerts(values: Any) -> dict[str, dict[str, Any]]:
    (group,) = only("PrometheusRule", values)["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def board() -> dict[str, Any]:
    (config_map,) = [
        one for one in of_kind("ConfigMap", "monitoring") if one["metadata"]["name"] == f"{FULLNAME}-dashboard"
    ]
    assert config_map["metadata"]["labels"].items() >= {"grafana_dashboard": "1", "boards": "yes"}.items()
    found: dict[str, Any] = json.loads(config_map["data"]["gpushare-webhook.json"])
    return found


def board_expressions() -> list[str]:
    """All that the dashboard asks Prometheus for."""
    return [target["expr"] for panel in board()["panels"] for target in panel["targets"]]


def expressions() -> list[str]:
    """All that alerts and dashboard ask Prometheus for."""
    return [*board_expressions(), *(rule["expr"] for rule in alerts("monitoring").values())]


def labels_of(expression: str) -> set[str]:
    """The labels that the result of an expression can have."""
    return set().union(*(known()[name] for name, _ in SERIES.findall(expression)))


def test_every_series_and_label_exists() -> None:
    assert len(expressions()) > 20
    for expression in expressions():
        series = SERIES.findall(expression)
        assert series, expression
        for name, matchers in series:
            assert name in known(), expression
            assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)) <= known()[name], expression
        for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
            assert {label.strip() for label in group.split(",")} <= labels_of(expression), expression


def test_every_alert_has_severity_summary_and_labels() -> None:
    for name, rule in alerts("monitoring").items():
        assert name.startswith("GpushareWebhook")
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["labels"]["team"] == "gpu"
        assert re.fullmatch(r"[0-9]+m", rule["for"])
        assert rule["annotations"]["summary"].endswith(".")
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["description"])) <= labels_of(rule["expr"])
    assert "> 0.25" in alerts("monitoring")["GpushareWebhookSlow"]["expr"]


@pytest.mark.parametrize(
    ("values", "leaf", "authority"),
    [
        ({}, 86400, 2628000),
        ({"tls": {"mode": "cert-manager"}}, 864000, 864000),
        ({"tls": {"mode": "cert-manager", "certManager": {"renewBefore": "8h"}}}, 9600, 9600),
        (
            {"tls": {"mode": "existing-secret", "existingSecret": {"name": "x", "annotations": {"a": "b"}}}},
            604800,
            604800,
        ),
    ],
)
def test_certificate_alert_fires_after_renewal_is_due(values: Any, leaf: int, authority: int) -> None:
    expression = alerts(values | {"metrics": {"prometheusRule": {"enabled": True}}})["GpushareWebhookCertificateEnds"]
    limits = re.findall(r'kind="([\w-]+)"} - time\(\) < ([0-9]+)', expression["expr"])
    assert dict(limits) == {"leaf": str(leaf), "ca": str(authority), "client-ca": "2592000"}


def test_expressions_select_namespace_of_release() -> None:
    for expression in (rule["expr"] for rule in alerts("monitoring").values()):
        for name, matchers in SERIES.findall(expression):
            assert name.startswith(("apiserver", "up")) or f'namespace="{NAMESPACE}"' in matchers


def test_dashboard_matches_file() -> None:
    assert board() == json.loads((CHART / "files" / "dashboard.json").read_text())
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)


def test_dashboard_shows_what_alerts_watch() -> None:
    shown = {name for expression in board_expressions() for name, _ in SERIES.findall(expression)}
    watched = {name for rule in alerts("monitoring").values() for name, _ in SERIES.findall(rule["expr"])}
    own = {name for name in watched if not name.startswith("kube_")}
    assert own - shown == {"up", "gpushare_webhook_settings_generation"}
    assert {"gpushare_webhook_large_reviews", "gpushare_webhook_closed_connections_total"} <= shown


def test_dashboard_takes_several_namespaces() -> None:
    (variable,) = [one for one in board()["templating"]["list"] if one["name"] == "namespace"]
    assert (variable["multi"], variable["includeAll"]) == (True, True)
    for expression in board_expressions():
        for name, matchers in SERIES.findall(expression):
            assert name.startswith("apiserver") or 'namespace=~"$namespace"' in matchers, expression


def test_dashboard_expressions_parse(tmp_path: Path) -> None:
    variables = {"$namespace": "one|two", "$__rate_interval": "1m"}
    expressions = board_expressions()
    for variable, value in variables.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    checked = subprocess.run(
        [tools.promtool(), "check", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert f"{len(expressions)} rules found" in checked.stdout


# The metrics of the API server do not say which release they are about.
OF_NO_RELEASE = {"GpushareWebhookFailedOpen", "GpushareWebhookFailedClosed"}


def test_alerts_of_two_releases_differ_by_namespace() -> None:
    """Alertmanager takes alerts with the same labels for one: one release would resolve the alert of another."""
    for alert, rule in alerts("monitoring").items():
        kept = re.findall(r"\b(?:sum|max|min|avg)\b(?: by \(([^)]*)\))?", rule["expr"])
        by_namespace = all("namespace" in labels.split(", ") for labels in kept)
        assert by_namespace is (alert not in OF_NO_RELEASE), alert


@pytest.mark.parametrize("alert", ["GpushareWebhookFailedOpen", "GpushareWebhookFailedClosed"])
def test_alerts_on_calls_cover_every_entry(alert: str) -> None:
    (pattern,) = set(re.findall(r'name=~"([^"]+)"', alerts("monitoring")[alert]["expr"]))
    names = {
        entry["name"]
        for mode in WEBHOOK_MODES
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        for entry in only(kind, mode)["webhooks"]
    }
    assert [name for name in names if not re.fullmatch(pattern, name)] == []
