"""The sources of facts: a control plane with their objects, and a change of each that a webhook's verdicts show."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.cluster.harness import audit
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import CAPABLE, CLASSES, CONFIG, GPU, STRATEGY, container, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.rights import PLUGIN, PLUGIN_NAMESPACE, create_account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.harness.reviews import Reviewer

MPS = {STRATEGY: "mps", CAPABLE: "true"}
WHOLE = {STRATEGY: "none", CAPABLE: "false"}
TEAM = "facts-team"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
CONFIG_MAPS = f"/api/v1/namespaces/{PLUGIN_NAMESPACE}/configmaps"
DAEMON_SETS = f"/apis/apps/v1/namespaces/{PLUGIN_NAMESPACE}/daemonsets"
SETTINGS = {
    "limits": {"fromDevicePlugin": True},
    "namespaces": [{"selector": {"matchLabels": {"gpu-rules": "lenient"}}, "mode": "warn"}],
    "facts": {
        "nodes": True,
        "namespaces": True,
        "runtimeClasses": True,
        "deviceClasses": True,
        "devicePlugin": {
            "configMaps": [f"{PLUGIN_NAMESPACE}/{PLUGIN}"],
            "daemonSet": f"{PLUGIN_NAMESPACE}/{PLUGIN}",
        },
    },
}


def two(pool: str) -> Object:
    """A pod that asks for two GPUs, on the nodes of a pool."""
    return pod("two", container(gpus=2), nodeSelector={"pool": pool})


def _sharing(strategy: str, *, fails: bool) -> str:
    option = f"failRequestsGreaterThanOne: {str(fails).lower()}"
    resources = f"resources: [{{name: {GPU}, replicas: 4}}]"
    return f"version: v1\nsharing:\n  {strategy}:\n    {option}\n    {resources}\n"


STRICT = _sharing("timeSlicing", fails=True)
# The device plugin honours the option for MPS from v0.20.
LENIENT = _sharing("mps", fails=False)


def daemon_set(version: str, default: str = "whole") -> Object:
    """The device plugin's DaemonSet, whose pods run nowhere. Nodes without a label use the configuration `default`."""
    labels = {"app": PLUGIN}
    manager: Object = {"name": "nvidia-device-plugin-init", "image": "none", "command": ["config-manager"]}
    manager["env"] = [{"name": "DEFAULT_CONFIG", "value": default}]
    plugin = {"name": "nvidia-device-plugin-ctr", "image": f"nvidia/k8s-device-plugin:{version}"}
    spec = {"nodeSelector": {"none": "none"}, "initContainers": [manager], "containers": [plugin]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"name": PLUGIN}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


@dataclass(frozen=True, slots=True)
class Sources:
    """A control plane that holds everything that facts are read from, and the kubeconfig of an account that may."""

    running: ControlPlaneOnly
    kubeconfig: Path


@contextmanager
def sources(folder: Path) -> Iterator[Sources]:
    """Start a control plane with nodes that share their cards in different ways.

    Two GPUs are too many on one node of each pool. `folder` is for the audit policy. The API server logs what service
    accounts ask of it. It listens on loopback, where the command line of this process reaches it.
    """
    options = ControlPlaneOptions(
        feature_gates={"DRAExtendedResource": True},
        api_server_flags=audit.flags(folder),
        controller_manager_flags=("--node-monitor-grace-period=1h",),  # the nodes send no heartbeats
    )
    with control_plane(options, place=Loopback) as running:
        kubeconfig = create_account(running)
        data = {"whole": "version: v1\n", "strict": STRICT, "lenient": LENIENT}
        running.api.create(CONFIG_MAPS, {"metadata": {"name": PLUGIN}, "data": data})
        running.api.create(DAEMON_SETS, daemon_set("v0.19.3"))
        running.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        with (
            namespace(running, TEAM),
            node_object(running, "whole-1", WHOLE | {"pool": "mixed"}, gpus=4),
            node_object(running, "mps-1", MPS | {"pool": "mixed"}, gpus=4),
            node_object(running, "strict-1", {CONFIG: "strict", "pool": "strict"}, gpus=4),
            node_object(running, "lenient-1", {CONFIG: "lenient", "pool": "lenient"}, gpus=4),
        ):
            yield Sources(running, kubeconfig)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one source, undone at the end, and whether a server's verdicts show it."""

    resource: str
    make: Callable[[Api], AbstractContextManager[object]]
    shown: Callable[[Reviewer], bool]


def _allowed(pool: str, namespace: str = "default") -> Callable[[Reviewer], bool]:
    return lambda server: server.pod(two(pool), namespace).allowed


def _injects_no_runtime_class(server: Reviewer) -> bool:
    answered = server.pod(pod("one"))
    return all(operation["path"] != "/spec/runtimeClassName" for operation in answered.patch)


NODE = "/api/v1/nodes/mps-1"

CHANGES = {
    "node-label": Change("nodes", lambda api: api.patched(NODE, {"metadata": {"labels": WHOLE}}), _allowed("mixed")),
    "namespace-label": Change(
        "namespaces",
        lambda api: api.patched(f"/api/v1/namespaces/{TEAM}", {"metadata": {"labels": {"gpu-rules": "lenient"}}}),
        _allowed("mixed", TEAM),
    ),
    "runtime-class-of-cdi": Change(
        "runtimeclasses",
        lambda api: api.created(CLASSES, {"metadata": {"name": "nvidia-legacy"}, "handler": "nvidia"}),
        _injects_no_runtime_class,
    ),
    "device-class": Change(
        "deviceclasses",
        lambda api: api.created(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}),
        _allowed("of-a-driver"),
    ),
    "config-map": Change(
        "configmaps",
        lambda api: api.patched(f"{CONFIG_MAPS}/{PLUGIN}", {"data": {"strict": STRICT.replace("true", "false")}}),
        _allowed("strict"),
    ),
    "daemon-set-image": Change(
        "daemonsets",
        lambda api: api.patched(f"{DAEMON_SETS}/{PLUGIN}", {"spec": daemon_set("v0.20.0")["spec"]}),
        _allowed("lenient"),
    ),
}
