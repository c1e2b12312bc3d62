"""Faults of the device plugin, the MPS control daemon and their configuration."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.faults import stack
from tests.cluster.faults.site import REPLICAS, Site, Trouble
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import CAPABLE, CONFIG, GPU
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import mps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object

_NODE = f"/api/v1/nodes/{NODE}"
_CONFIG_MAP = f"{stack.CONFIG_MAPS}/{stack.CONFIGS}"
_OPERATOR = "gpu-operator"


def _labelled(labels: Mapping[str, str | None]) -> Callable[[Site], AbstractContextManager[None]]:
    """Labels of the node are changed, or missing."""
    return lambda site: site.cluster.api.patched(_NODE, {"metadata": {"labels": labels}})


@contextmanager
def _incapable(site: Site) -> Iterator[None]:
    """The label that the daemon's DaemonSet selects is missing, as without GPU feature discovery."""
    with _labelled({CAPABLE: None})(site):
        stack.wait_ready(site.cluster, stack.DAEMON, 0)
        yield
    stack.wait_ready(site.cluster, stack.DAEMON)


@contextmanager
def _by_hand(site: Site) -> Iterator[None]:
    """Discovery is not installed, and someone has set the label for the daemon by hand."""
    kept = (CAPABLE, stack.PRESENT)
    discovered = {key: None for key in stack.discovered(REPLICAS) if key not in kept}
    with stack.without(site.cluster, stack.DISCOVERY), _labelled(discovered)(site):
        yield


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
    """The ConfigMap is edited, and the plugin still runs with what it read before."""
    return lambda site: site.cluster.api.patched(_CONFIG_MAP, {"data": stack.config_map(**configs)["data"]})


def _tainted(site: Site) -> AbstractContextManager[str]:
    """A GPU node has a taint that neither DaemonSet tolerates."""
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    return node_object(site.cluster, "dedicated", stack.discovered(REPLICAS), gpus=REPLICAS, taints=(taint,))


_ONE_REPLICA = {"version": "v1", "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 1}]}}}
_BESIDE = {"version": "v1", "timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
_DAEMON = frozenset({"daemon-not-ready", "daemon-wants-no-pods"})

TROUBLES = (
    Trouble("daemon-wants-no-pods", "unlabelled", _incapable),
    Trouble("daemon-missing", "without-daemon", lambda site: stack.without(site.cluster, stack.DAEMON)),
    Trouble("daemon-not-ready", "unready", _unready(stack.DAEMON)),
    Trouble("plugin-not-ready", "unready", _unready(stack.PLUGIN)),
    Trouble("label-without-discovery", "by-hand", _by_hand),
    Trouble("plugin-missing", "without-plugin", lambda site: stack.without(site.cluster, stack.PLUGIN)),
    Trouble("two-plugins", "two-plugins", _second),
    Trouble("allocatable-differs", "configured", _configured(default=mps(4))),
    Trouble("GPS030", "configured", _configured(single=_ONE_REPLICA)),
    Trouble("GPS031", "configured", _configured(beside=_BESIDE)),
    Trouble(
        "config-label-unknown",
        "without-daemon",
        _labelled({CONFIG: "a100-mps"}),
        frozenset({"GPS033"}),
    ),
    Trouble("taint-not-tolerated", "tainted", _tainted, _DAEMON | {"plugin-missing", "plugin-not-ready"}),
)
