"""Prometheus beside the cluster: it discovers what it scrapes, evaluates the chart's alerts, and answers queries.

An alert waits minutes, and its windows are minutes long. Here, time runs `SPEEDUP` times as fast: every duration of the
rules is divided by it, as are the intervals of Prometheus itself. Expressions are otherwise as the chart renders them.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.chart import tools
from tests.cluster.harness import gobuild
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.place import Place


SPEEDUP = 60  # minutes of the rules pass as seconds here
_INTERVAL = "1s"  # of scrapes and evaluations; 60 s in the real time of the rules
_LOOKBACK = "5m"  # how old the newest sample of a series may be: the default of Prometheus

_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+)(ms|[smhdw])")
# One or more parts, but not within a name, a number or a text such as "5..".
_DURATION = re.compile(rf'(?<![\w."])(?:{_PART.pattern})+(?![\w"])')


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    place: Place
    port: int

    def get(self, path: str, **parameters: str) -> Object:
        """The data of an answer of its API. Raises `OSError` while nothing listens."""
        status, content = self._request(f"/api/v1/{path}?{urlencode(parameters)}")
        assert status == HTTPStatus.OK, f"{path} {parameters}: {status} {content}"
        data: Object = json.loads(content)["data"]
        return data

    def ready(self) -> bool:
        """Whether it serves its API; it listens before that, and answers 503."""
        try:
            return self._request("/-/ready")[0] == HTTPStatus.OK
        except OSError:
            return False

    def _request(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.place.address, self.port)
        connection.sock = self.place.connect(self.place.address, self.port, 5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def query(self, expression: str) -> list[Object]:
        """The series of an expression now, each with its labels (`metric`) and its sample (`value`)."""
        return list(self.get("query", query=expression)["result"])

    def firing(self, alert: str) -> list[Object]:
        """The instances of an alert that fire, each with its labels and annotations."""
        return [one for one in self._alerts() if one["labels"]["alertname"] == alert and one["state"] == "firing"]

    def wait_firing(self, alert: str) -> list[Object]:
        """The instances of an alert as soon as one fires."""
        try:
            return wait_for(f"{alert} to fire", lambda: self.firing(alert))
        except TimeoutError as late:
            raise TimeoutError(f"{late}; {self._alerts()}") from None

    def wait_resolved(self, alert: str) -> None:
        """Wait until no instance of an alert fires."""
        wait_for(f"{alert} to resolve", lambda: not self.firing(alert))

    def _alerts(self) -> list[Object]:
        return list(self.get("alerts")["alerts"])


@contextmanager
def prometheus(
    running: ControlPlaneOnly, namespace: str, groups: list[Object], state_metrics: str, history: str = ""
) -> Iterator[Prometheus]:
    """Prometheus for the time of the context, which evaluates these groups of rules.

    It scrapes the API server, the pods of a namespace at their ports named `health`, and kube-state-metrics at its
    address. It reads the API server as administrator: its rights are not under test. It knows `history` from the
    start: OpenMetrics text with times. Raises `ToolsMissingError`.
    """
    program = gobuild.prometheus().find() / "prometheus"
    folder = running.place.folder / "prometheus"
    folder.mkdir(exist_ok=True)
    (folder / "rules.json").write_text(json.dumps({"groups": [_faster(group) for group in groups]}))
    (folder / "config.json").write_text(json.dumps(_config(running, namespace, state_metrics)))
    if history:
        _fill(folder, history)
    port = running.place.port(9090)
    command = [
        str(program),
        f"--config.file={folder / 'config.json'}",  # JSON is YAML
        f"--storage.tsdb.path={folder / 'data'}",
        f"--query.lookback-delta={scaled(_LOOKBACK)}",
        f"--web.listen-address={running.place.address}:{port}",
        "--log.level=warn",
    ]
    process = running.place.start("prometheus", command)
    started = Prometheus(running.place, port)
    try:
        process.wait_until("Prometheus is ready", started.ready)
        yield started
    finally:
        process.stop()


def _fill(folder: Path, history: str) -> None:
    """Write series of the past to the folder of Prometheus' data, before it starts."""
    (folder / "history.txt").write_text(history)
    command = [tools.promtool(), "tsdb", "create-blocks-from", "openmetrics", "history.txt", "data"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)


def scaled(text: str) -> str:
    """A text of PromQL or a duration, with every duration divided by `SPEEDUP`."""

    def divided(found: re.Match[str]) -> str:
        total = sum(int(count) * _MILLISECONDS[unit] for count, unit in _PART.findall(found[0]))
        return f"{total // SPEEDUP}ms"

    return _DURATION.sub(divided, text)


def _faster(group: Object) -> Object:
    durations = ("expr", "for", "keep_firing_for")
    rules = [rule | {key: scaled(rule[key]) for key in durations if key in rule} for rule in group["rules"]]
    return group | {"rules": rules}


def _config(running: ControlPlaneOnly, namespace: str, state_metrics: str) -> Object:
    """The labels of a pod's series are those that the Prometheus operator gives the targets of a PodMonitor."""
    control = running.control
    token = running.api.headers()["Authorization"].removeprefix("Bearer ")
    pods = {
        "role": "pod",
        "kubeconfig_file": str(control.kubeconfigs["admin"]),
        "namespaces": {"names": [namespace]},
    }
    relabel = [
        {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": "health", "action": "keep"},
        {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
        {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
        {"source_labels": ["__meta_kubernetes_pod_container_name"], "target_label": "container"},
    ]
    jobs: list[Object] = [
        {
            "job_name": "apiserver",
            "scheme": "https",
            "authorization": {"credentials": token},
            "tls_config": {"ca_file": str(control.authority)},
            "static_configs": [{"targets": [control.server.removeprefix("https://")]}],
        },
        {"job_name": "pods", "kubernetes_sd_configs": [pods], "relabel_configs": relabel},
        {
            "job_name": "kube-state-metrics",
            "honor_labels": True,  # its labels `namespace` and `pod` name the object, not the target
            "static_configs": [{"targets": [state_metrics]}],
        },
    ]
    return {
        "global": {"scrape_interval": _INTERVAL, "scrape_timeout": _INTERVAL, "evaluation_interval": _INTERVAL},
        "rule_files": [str(running.place.folder / "prometheus/rules.json")],
        "scrape_configs": jobs,
    }


@contextmanager
def state_metrics(running: ControlPlaneOnly, namespace: str) -> Iterator[str]:
    """kube-state-metrics for one namespace and the time of the context; yields its address as `HOST:PORT`.

    It reads the API server as administrator. Raises `ToolsMissingError`.
    """
    place = running.place
    program = gobuild.kube_state_metrics().find() / "kube-state-metrics"
    port = place.port(8085)
    command = [
        str(program),
        f"--kubeconfig={running.control.kubeconfigs['admin']}",
        f"--namespaces={namespace}",
        "--resources=deployments,pods,namespaces",
        f"--host={place.address}",
        f"--port={port}",
        f"--telemetry-host={place.address}",
        f"--telemetry-port={place.port(8086)}",
    ]
    process = place.start("kube-state-metrics", command)
    try:
        yield f"{place.address}:{port}"
    finally:
        process.stop()
