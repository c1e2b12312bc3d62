"""The chart's webhooks without a node, at addresses that a test chooses, and the webhook as a process."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.harness import manifests
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.interpreters import Interpreter, at_hand
from tests.cluster.harness.waiting import wait_for
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.place import Place
    from tests.cluster.harness.process import Process

_GROUP = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{_GROUP}/mutatingwebhookconfigurations"
VALIDATING = f"{_GROUP}/validatingwebhookconfigurations"
DRY_POD = "/api/v1/namespaces/default/pods?dryRun=All"


@contextmanager
def hooks(
    running: ControlPlaneOnly,
    client_config: Callable[[Object], Object],
    in_force: Callable[[], object],
    *,
    which: tuple[str, ...] = (MUTATING, VALIDATING),
    seconds: int = 5,
) -> Iterator[None]:
    """Store the chart's configurations and wait until they are in force; delete them at the end.

    `client_config` returns the address of an entry; `seconds` is its timeout.
    """
    builders = {MUTATING: product.mutating, VALIDATING: product.validating}
    try:
        for path in which:
            configuration = builders[path](b"")
            for entry in configuration["webhooks"]:
                entry |= {"clientConfig": client_config(entry), "timeoutSeconds": seconds}
            running.api.create(path, configuration)
        wait_for("the hooks to be in force", in_force)
        yield
    finally:
        remove(running, *which)


def remove(running: ControlPlaneOnly, *which: str) -> None:
    """Delete configurations, if they exist, and wait until the API server no longer uses them."""
    for path in which:
        if running.api.find(f"{path}/{product.NAME}") is not None:
            running.api.delete(f"{path}/{product.NAME}")
    wait_for("the API server to forget the configurations", lambda: not _handled(running))


def _handled(running: ControlPlaneOnly) -> bool:
    """Whether a GPU pod is mutated or rejected, for example because of its runtime class."""
    try:
        return is_mutated(running.api.create(DRY_POD, manifests.pod("asks")))
    except ApiError:
        return True


def rejection(running: ControlPlaneOnly, manifest: Object, namespace: str = "default") -> str:
    """The API server's rejection of a new pod; empty if it accepts it."""
    try:
        running.api.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", manifest)
    except ApiError as rejected:
        return rejected.message
    return ""


def is_mutated(pod: Object) -> bool:
    """Whether a pod's first container has the variable that only the webhook injects."""
    return any(entry["name"] == "CUDA_MPS_PIPE_DIRECTORY" for entry in pod["spec"]["containers"][0].get("env", []))


@dataclass(frozen=True, slots=True)
class LocalWebhook:
    """The webhook as a process next to the API server, at the place's address."""

    process: Process
    place: Place
    port: int
    health_port: int
    authority: Authority

    def client_config(self, entry: Object) -> Object:
        """The webhook's address for an entry."""
        path = entry["clientConfig"]["service"]["path"]
        bundle = base64.b64encode(self.authority.bundle()).decode()
        return {"url": f"https://{self.place.address}:{self.port}{path}", "caBundle": bundle}


@contextmanager
def local_webhook_process(
    running: ControlPlaneOnly,
    *,
    settings: Object | None = None,
    kubeconfig: Path | None = None,
    interpreter: Interpreter | None = None,
) -> Iterator[LocalWebhook]:
    """The webhook as a process next to the API server, without a configuration. It may still be starting.

    It reads facts with the rights of `kubeconfig`. Without an `interpreter`, the Python of the tests runs it.
    """
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    authority = Authority.create("tests", now, lifetime)
    leaf = authority.sign([running.place.address], now, lifetime)
    port, health_port = running.place.port(9443), running.place.port(8080)  # 10250, the usual one, is the kubelet's
    options = [
        f"--port={port}",
        f"--health-port={health_port}",
        *([f"--kubeconfig={kubeconfig}"] if kubeconfig else []),
    ]
    pair = {"tls.crt": leaf.certificate, "tls.key": leaf.key}
    process = _start(running, interpreter or at_hand(), options, pair, settings or {})
    try:
        yield LocalWebhook(process, running.place, port, health_port, authority)
    finally:
        process.stop()


@contextmanager
def local_webhook(
    running: ControlPlaneOnly, *, settings: Object | None = None, kubeconfig: Path | None = None
) -> Iterator[Process]:
    """The webhook as a process next to the API server, with both configurations in force."""
    with local_webhook_process(running, settings=settings, kubeconfig=kubeconfig) as beside:
        process = beside.process
        with hooks(running, beside.client_config, lambda: process.running and _both_work(running)):
            yield process


def _start(
    running: ControlPlaneOnly, interpreter: Interpreter, options: list[str], pair: dict[str, bytes], settings: Object
) -> Process:
    folder = running.place.folder / "webhook"
    folder.mkdir(exist_ok=True)
    written = folder / "settings.yaml"
    for name, content in pair.items():
        (folder / name).write_bytes(content)
    head = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "server": {"shutdownDelay": "0s"}}
    written.write_text(json.dumps(head | settings))
    command = [
        *(*interpreter.command, "-m", "webhook", "serve", f"--config={written}"),
        *(f"--host={running.place.address}", f"--tls-cert={folder / 'tls.crt'}", f"--tls-key={folder / 'tls.key'}"),
        *options,
    ]
    return running.place.start("webhook", command, environment=interpreter.environment)


def _both_work(running: ControlPlaneOnly) -> bool:
    """Whether the mutating webhook answers for a pod, and the validating one rejects a template with two GPUs."""
    storm = manifests.deployment("storm", manifests.container(gpus=2))
    if not _handled(running):
        return False
    try:
        running.api.create("/apis/apps/v1/namespaces/default/deployments?dryRun=All", storm)
    except ApiError as refused:
        return "GPS001" in refused.message
    return False


@contextmanager
def namespace(running: ControlPlaneOnly, name: str, **labels: str) -> Iterator[str]:
    """A Kubernetes namespace with labels that is ready for pods; yields the path of its core resources.

    If another test has just deleted one of this name, it waits until that is gone.
    """
    path = f"/api/v1/namespaces/{name}"
    wait_for(f"{path} to be gone", lambda: running.api.find(path) is None)
    running.api.create_namespace(name, labels)
    try:
        yield path
    finally:
        running.api.delete(path)
