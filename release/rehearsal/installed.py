"""The released chart and image on a real cluster, whose container runtime pulls from the registry on its loopback."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from release.rehearsal import former
from release.rehearsal.guide import FailedError
from tests.chart import tools
from tests.cluster import demo
from tests.cluster.harness import cluster as clusters
from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import rejection
from tests.cluster.harness.inventory import inventory, wait_left
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook_manifests import RUNTIME_CLASS
from tests.cluster.harness.workspace import workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from release.rehearsal.guide import Reader, Step
    from release.rehearsal.registry import Registry
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.creates import Creates

NAMESPACE = RELEASE = "gpushare-webhook"
# Helm keeps the namespace that it created, and Kubernetes these objects in every namespace.
_KEPT = {
    f"Namespace/<none>/{NAMESPACE}",
    f"ConfigMap/{NAMESPACE}/kube-root-ca.crt",
    f"ServiceAccount/{NAMESPACE}/default",
}


@contextmanager
def cluster(registry: Registry) -> Iterator[Cluster]:
    """A cluster whose node pulls from the registry. Raises `ToolsMissingError` and `UnavailableError`."""
    with clusters.cluster(demo.OPTIONS) as running:
        registry.serve(running.inside)
        running.node.containers.trust(registry.address, registry.authority)
        running.kubectl("apply", "-f", "-", manifest=RUNTIME_CLASS)
        yield running


def administrator(running: Cluster, reader: Reader) -> Reader:
    """The reader as administrator of the cluster: only the cluster's folder can be written there."""
    folder = running.place.folder / "administrator"
    (folder / "temporary").mkdir(parents=True)
    programs = [Path(tools.helm()).parent, running.control.tools.kubectl.parent]
    environment = dict(reader.environment) | {
        "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
        "KUBECONFIG": str(running.control.kubeconfigs["admin"]),
        "HOME": str(folder),
        "TMPDIR": str(folder / "temporary"),
    }
    return replace(reader, environment=environment, records=folder)


def install(running: Cluster, reader: Reader, step: Step) -> float:
    """Follow the guide's step, and return its seconds. Raises `FailedError` unless the pods run the signed image."""
    seconds = administrator(running, reader).follow(step, running.inside.command(["bash"]))
    digest = reader.read("digest")
    pods = running.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
    images = {status["imageID"] for one in pods for status in one["status"].get("containerStatuses", [])}
    if not images or not all(image.endswith(digest) for image in images):
        raise FailedError(f"the pods run {images or 'no image'}, and {digest} was signed")
    wait_for("the webhook to answer", lambda: _enforces(running))
    return seconds


def show(running: Cluster, reader: Reader, step: Step) -> float:
    """Run the demo with the guide's installation as the webhook, remove it, and return the seconds of the step."""
    seconds: list[float] = []

    @contextmanager
    def serving(running: Cluster) -> Iterator[None]:
        seconds.append(install(running, reader, step))
        yield
        _uninstall(Helm(running, NAMESPACE))

    with workspace(running, "demo") as space:
        storm = demo.show(running, space, serving)
    if storm.failed_with_webhook:
        raise FailedError(f"{storm.failed_with_webhook} pods failed although the webhook is installed")
    return seconds[0]


def upgrade(running: Cluster, registry: Registry, version: str) -> list[str]:
    """Install the former version, upgrade, roll back and uninstall while pods are created; return the figures.

    Raises `FailedError` where a pod is rejected, or stored without the webhook's edits, and where the pods run another
    version.
    """
    helm, before = Helm(running, NAMESPACE), inventory(running)
    chart = (RELEASE, f"oci://{registry.address}/charts/gpushare-webhook", f"--ca-file={registry.authority}")
    values = ({"image": {"registry": registry.address}},)
    wait = ("--wait", "--timeout=240s")
    helm("install", *chart, f"--version={former.VERSION}", "--create-namespace", *wait, values=values)
    wait_for("the former version to answer", lambda: _enforces(running))
    figures = [f"{former.VERSION}: {_running(running, registry, former.VERSION)}"]
    with workspace(running, "upgrade") as space, creating(space, rate=5) as creates:
        creates.wait_for_more()
        helm("upgrade", *chart, f"--version={version}", *wait, values=values)
        figures.append(f"upgraded to {version}: {_running(running, registry, version)}; {_counted(creates)}")
        helm("rollback", RELEASE, "1", *wait)
        back = _running(running, registry, former.VERSION)
        figures.append(f"rolled back to {former.VERSION}: {back}; {_counted(creates)}")
    if failed := lost(creates.answered):
        raise FailedError(f"{len(failed)} creates were lost, the first: {failed[0]}")
    _uninstall(helm)
    wait_left(running, before, _KEPT - before)
    return [*figures, "uninstalled: only the namespace is left"]


def _counted(creates: Creates) -> str:
    creates.wait_for_more()
    return summary(creates.answered)


def _running(running: Cluster, registry: Registry, version: str) -> str:
    """The image that the containers of the release's pods name. Raises `FailedError` unless it is of the version."""
    pods = running.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")
    names = {one["spec"]["containers"][0]["image"] for one in pods if "deletionTimestamp" not in one["metadata"]}
    expected = f"{registry.address}/{former.IMAGE}:{version}"
    if names != {expected}:
        raise FailedError(f"the pods run {', '.join(sorted(names)) or 'no image'} instead of {expected}")
    return expected


def _enforces(running: Cluster) -> bool:
    return "GPS001" in rejection(running, pod("two", container(gpus=2)))


def _uninstall(helm: Helm) -> None:
    helm("uninstall", RELEASE, "--wait", "--timeout=180s")
