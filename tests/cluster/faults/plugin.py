"""Faults of the device plugin, the MPS control daemon and their configuration."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults import stack
from tests.cluster.faults.site import REPLICAS, Site, Trouble
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import GPU, container, host_path, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import mps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object

_NODE = f"/api/v1/nodes/{NODE}"
_CONFIG_MAP = f"{stack.CONFIG_MAPS}/{stack.CONFIGS}"
_OPERATOR = "gpu-operator"


@contextmanager
def _labelled(site: Site, labels: dict[str, str | None]) -> Iterator[None]:
    """Change labels of the node for a while."""
    before = site.cluster.api.get(_NODE)["metadata"]["labels"]
    site.cluster.api.patch(_NODE, {"metadata": {"labels": labels}})
    try:
        yield
    finally:
        site.cluster.api.patch(_NODE, {"metadata": {"labels": {key: before.get(key) for key in labels}}})


@contextmanager
def _incapable(site: Site) -> Iterator[None]:
    """The label that the daemon's DaemonSet selects is missing, as without GPU feature discovery."""
    with _labelled(site, {stack.CAPABLE: None}):
        stack.wait_ready(site.cluster, stack.DAEMON, 0)
        yield
    stack.wait_ready(site.cluster, stack.DAEMON)


@contextmanager
def _by_hand(site: Site) -> Iterator[None]:
    """Discovery is not installed, and someone has set the label for the daemon by hand."""
    site.cluster.api.delete(f"{stack.DAEMON_SETS}/{stack.DISCOVERY}")
    kept = (stack.CAPABLE, stack.PRESENT)
    try:
        with _labelled(site, {key: None for key in stack.discovered(REPLICAS) if key not in kept}):
            yield
    finally:
        site.cluster.api.create(stack.DAEMON_SETS, stack.discovery())
        stack.wait_ready(site.cluster, stack.DISCOVERY)


def _without(name: str, manifest: Callable[[], Object]) -> Callable[[Site], AbstractContextManager[None]]:
    @contextmanager
    def removed(site: Site) -> Iterator[None]:
        """The DaemonSet is not installed."""
        site.cluster.api.delete(f"{stack.DAEMON_SETS}/{name}")
        stack.wait_gone(site.cluster, name)
        try:
            yield
        finally:
            site.cluster.api.create(stack.DAEMON_SETS, manifest())
            stack.wait_ready(site.cluster, name)

    return removed


def _unready(name: str) -> Callable[[Site], AbstractContextManager[None]]:
    @contextmanager
    def unready(site: Site) -> Iterator[None]:
        """The pod of the DaemonSet runs, and its readiness probe fails."""
        (found,) = stack.pods(site.cluster, name)
        run = ("-n", stack.NAMESPACE, "exec", found["metadata"]["name"], "--")
        site.cluster.kubectl(*run, "rm", "/tmp/ready")  # noqa: S108
        path = f"{stack.DAEMON_SETS}/{name}"
        site.cluster.api.wait_for(path, "to be unready", lambda one: not one["status"].get("numberReady"))
        try:
            yield
        finally:
            site.cluster.kubectl(*run, "touch", "/tmp/ready")  # noqa: S108
            stack.wait_ready(site.cluster, name)

    return unready


@contextmanager
def _second(site: Site) -> Iterator[None]:
    """The GPU operator brings a plugin too."""
    name = "nvidia-device-plugin-daemonset"
    with namespace(site.cluster, _OPERATOR):
        site.cluster.api.create(f"/api/v1/namespaces/{_OPERATOR}/configmaps", stack.config_map(default=mps(REPLICAS)))
        second = stack.daemon_set(name, "nvidia-device-plugin", _OPERATOR, nodeSelector={stack.PRESENT: "true"})
        path = f"/apis/apps/v1/namespaces/{_OPERATOR}/daemonsets"
        site.cluster.api.create(path, second)
        try:
            site.cluster.api.wait_for(
                f"{path}/{name}", "to be ready", lambda one: one["status"].get("numberReady") == 1
            )
            yield
        finally:
            site.cluster.kubectl("-n", _OPERATOR, "delete", "daemonset", name, "--cascade=foreground")


def _configured(**configs: Object) -> Callable[[Site], AbstractContextManager[None]]:
    @contextmanager
    def configured(site: Site) -> Iterator[None]:
        """The ConfigMap is edited, and the plugin still runs with what it read before."""
        before = site.cluster.api.get(_CONFIG_MAP)["data"]
        data = stack.config_map(**configs)["data"]
        site.cluster.api.patch(_CONFIG_MAP, {"data": data})
        try:
            yield
        finally:
            site.cluster.api.patch(_CONFIG_MAP, {"data": {key: before.get(key) for key in data}})

    return configured


@contextmanager
def _unknown_label(site: Site) -> Iterator[None]:
    """The node's label names a configuration that does not exist."""
    with _labelled(site, {stack.CONFIG: "a100-mps"}):
        yield


@contextmanager
def _tainted(site: Site) -> Iterator[None]:
    """A GPU node has a taint that neither DaemonSet tolerates."""
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    with node_object(site.cluster, "dedicated", stack.discovered(REPLICAS), gpus=REPLICAS, taints=(taint,)):
        yield


@contextmanager
def _joined(site: Site) -> Iterator[None]:
    """A pod mounts the default pipe directory of the node."""
    mount = {"name": "mps", "mountPath": "/tmp/nvidia-mps"}  # noqa: S108
    joins = pod("joins", container(volumeMounts=[mount]), volumes=[host_path("mps", "/tmp/nvidia-mps")])  # noqa: S108
    site.team.create(joins)
    try:
        yield
    finally:
        site.team.kubectl("delete", "pod", "joins")


_ONE_REPLICA = {"version": "v1", "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 1}]}}}
_BESIDE = {"version": "v1", "timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
_DAEMON = frozenset({"daemon-not-ready", "daemon-wants-no-pods"})

TROUBLES = (
    Trouble("daemon-wants-no-pods", "unlabelled", _incapable),
    Trouble("daemon-missing", "without-daemon", _without(stack.DAEMON, stack.daemon)),
    Trouble("daemon-not-ready", "unready", _unready(stack.DAEMON)),
    Trouble("plugin-not-ready", "unready", _unready(stack.PLUGIN)),
    Trouble("label-without-discovery", "by-hand", _by_hand),
    Trouble("plugin-missing", "without-plugin", _without(stack.PLUGIN, stack.plugin)),
    Trouble("two-plugins", "two-plugins", _second),
    Trouble("allocatable-differs", "configured", _configured(default=mps(4))),
    Trouble("GPS030", "configured", _configured(single=_ONE_REPLICA)),
    Trouble("GPS031", "configured", _configured(beside=_BESIDE)),
    Trouble("config-label-unknown", "without-daemon", _unknown_label, frozenset({"GPS033"})),
    Trouble("taint-not-tolerated", "tainted", _tainted, _DAEMON | {"plugin-missing", "plugin-not-ready"}),
    Trouble("pipe-joins-all", "tainted", _joined),
)
