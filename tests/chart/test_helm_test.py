"""`helm test` detects whether the API server calls the webhook.

The API server is simulated, with and without the webhook. The webhook's
answers come from the command line.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from tests.chart.render import of_kind
from tests.cli.run import run
from tests.cluster.harness import webhook_image
from tests.server.certificates import issue

pytestmark = pytest.mark.slow

Json = dict[str, Any]
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the API server."""

    status: int
    body: Json
    warnings: tuple[str, ...] = ()


Answer = Callable[[Json], Said]


def without_webhook(pod: Json) -> Said:
    return Said(201, pod)


def forbidden(pod: Json) -> Said:
    return Said(403, {"kind": "Status", "message": "pods is forbidden"})


def with_webhook(settings: Json, folder: Path) -> Answer:
    """An API server with the webhook, under these settings."""
    config = folder / "webhook.yaml"
    config.write_text(json.dumps(settings))

    def answer(pod: Json) -> Said:
        checked = run("check", "-f", "-", "-o", "json", "--config", config, stdin=json.dumps(pod).encode())
        (result,) = checked.json()["results"]
        said = {
            severity: [f"{one['code']} {one['message']}" for one in result["findings"] if one["severity"] == severity]
            for severity in ("deny", "warn")
        }
        if result["decision"] == "denied":
            return Said(403, {"kind": "Status", "message": f"denied the request: {said['deny'][0]}"})
        return Said(201, jsonpatch.apply_patch(pod, result["patch"]), tuple(said["warn"]))

    return answer


@contextmanager
def api_server(answer: Answer, folder: Path) -> Iterator[tuple[int, list[tuple[str, str, Json]]]]:
    """Its port, and the requests that it received: path, authorization, body."""
    requests: list[tuple[str, str, Json]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, self.headers["Authorization"], body))
            self.send(answer(body))

        def do_GET(self) -> None:
            self.send(Said(200, {"kind": "Namespace", "metadata": {"name": self.path.rpartition("/")[2]}}))

        def send(self, said: Said) -> None:
            payload = json.dumps(said.body).encode()
            self.send_response(said.status)
            for warning in said.warnings:
                self.send_header("Warning", f'299 - "{warning}"')
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    certificates = issue(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1], requests
        finally:
            server.shutdown()
            thread.join()


def end_of(answer: Answer, folder: Path) -> tuple[int, str, list[tuple[str, str, Json]]]:
    """Exit code, output and requests of the test's container."""
    (pod,) = of_kind("Pod", "default")
    (container,) = pod["spec"]["containers"]
    assert container["command"] == [webhook_image.CONFIG.entrypoint[0], "-c"]
    (program,) = container["args"]
    assert _ACCOUNT in program
    (folder / "token").write_text("secret")
    with api_server(answer, folder) as (port, requests):
        environment = {one["name"]: one["value"] for one in container["env"]}
        environment |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}
        done = subprocess.run(
            [sys.executable, "-c", program.replace(_ACCOUNT, str(folder))],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.stderr == ""
    return done.returncode, done.stdout, requests


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, 1),
        ({"mode": "audit", "injections": {"mode": "on"}}, 1),
        ({"injections": {"mode": "report"}}, 2),
        ({"injections": {"mode": "off"}}, 2),
        ({"profile": "openshift"}, 1),
        ({"profile": "host-daemon"}, 1),
        ({"profile": "gke"}, 1),
        ({"resources": [{"name": "nvidia.com/gpu", "kind": "whole"}]}, 1),
        ({"profile": "kai"}, 2),
        ({"profile": "dra"}, 2),
        ({"profile": "none"}, 2),
        ({"profile": "none", "mode": "warn"}, 2),
    ],
    ids=str,
)
def test_helm_test_passes_with_webhook(settings: Json, asked: int, tmp_path: Path) -> None:
    code, said, requests = end_of(with_webhook(settings, tmp_path), tmp_path)
    assert (code, said) == (0, "the webhook answers\n")
    assert len(requests) == asked + 1
    assert "hostPath" in str(requests[-1][2])


def guarded(pod: Json) -> Said:
    """An API server whose guard denies while no replica answers."""
    (limits,) = (one["resources"]["limits"] for one in pod["spec"]["containers"])
    if max(limits.values()) == 1:
        return Said(201, pod)
    return Said(403, {"kind": "Status", "message": "ValidatingAdmissionPolicy 'guard' with binding 'guard': GPS001"})


@pytest.mark.parametrize("answer", [without_webhook, forbidden, guarded])
def test_helm_test_fails_without_webhook(answer: Answer, tmp_path: Path) -> None:
    code, said, _ = end_of(answer, tmp_path)
    assert code == 1
    assert said.startswith("no trace of the webhook")
    assert ("pods is forbidden" in said) is (answer is forbidden)


def test_helm_test_finds_shared_resource_at_any_position() -> None:
    resources = [{"name": "nvidia.com/gpu", "kind": "whole"}, {"name": "example.com/mps"}]
    (pod,) = of_kind("Pod", {"config": {"resources": resources}})
    environment = {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}
    assert environment["TEST_RESOURCE"] == "example.com/mps"


def test_helm_test_fails_for_settings_without_visible_effect(tmp_path: Path) -> None:
    code, said, _ = end_of(with_webhook({"profile": "none", "mode": "audit"}, tmp_path), tmp_path)
    assert (code, said.startswith("no trace of the webhook")) == (1, True)


@pytest.mark.parametrize(
    ("config", "is_rendered"),
    [
        ({"mode": "audit"}, False),
        ({"mode": "audit", "injections": {"mode": True}}, True),
        ({"mode": "audit", "injections": {"mode": "report"}}, False),
        ({"mode": "warn", "injections": {"mode": "report"}}, True),
    ],
    ids=str,
)
def test_helm_test_exists_where_users_see_webhook(config: Json, is_rendered: bool) -> None:
    assert bool(of_kind("Pod", {"config": config})) is is_rendered


def test_helm_test_cleans_up_within_its_rights(tmp_path: Path) -> None:
    _, _, requests = end_of(without_webhook, tmp_path)
    assert {path for path, _, _ in requests} == {"/api/v1/namespaces/default/pods?dryRun=All"}
    assert {authorization for _, authorization, _ in requests} == {"Bearer secret"}
    for _, _, pod in requests:
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False
