"""A webhook process that reads facts from a real API server: verdicts follow each source, and each needs its rights."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import audit
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.rights import ACCOUNT, PLUGIN, PLUGIN_NAMESPACE, RULES, create_account, grant
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.cluster.harness.api import Api, Object

SECONDS = 2.0
"""How soon a change must show in verdicts."""

ALLOWANCE = 3.0
"""Added to it, because the cluster and other programs share the processors of the machine that runs the tests."""

CONFIG = "nvidia.com/device-plugin.config"
STRATEGY = "nvidia.com/gpu.sharing-strategy"
CAPABLE = "nvidia.com/mps.capable"
MPS = {STRATEGY: "mps", CAPABLE: "true"}
WHOLE = {STRATEGY: "none", CAPABLE: "false"}
TEAM = "facts-team"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
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


def _two(pool: str) -> Object:
    """A pod that asks for two GPUs, on the nodes of a pool."""
    return pod("two", container(gpus=2), nodeSelector={"pool": pool})


def _sharing(strategy: str, *, fails: bool) -> str:
    option = f"failRequestsGreaterThanOne: {str(fails).lower()}"
    resources = f"resources: [{{name: {GPU}, replicas: 4}}]"
    return f"version: v1\nsharing:\n  {strategy}:\n    {option}\n    {resources}\n"


STRICT = _sharing("timeSlicing", fails=True)
# The device plugin honours the option for MPS from v0.20.
LENIENT = _sharing("mps", fails=False)


def _daemon_set(version: str) -> Object:
    labels = {"app": PLUGIN}
    manager: Object = {"name": "nvidia-device-plugin-init", "image": "none", "command": ["config-manager"]}
    manager["env"] = [{"name": "DEFAULT_CONFIG", "value": "whole"}]
    plugin = {"name": "nvidia-device-plugin-ctr", "image": f"nvidia/k8s-device-plugin:{version}"}
    spec = {"nodeSelector": {"none": "none"}, "initContainers": [manager], "containers": [plugin]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"name": PLUGIN}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


@pytest.fixture(scope="module")
def running(needs_control_plane: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneOnly]:
    """A control plane with the objects of a cluster whose nodes share their cards in different ways."""
    options = ControlPlaneOptions(
        feature_gates={"DRAExtendedResource": True},
        api_server_flags=audit.flags(tmp_path_factory.mktemp("audit")),
        controller_manager_flags=("--node-monitor-grace-period=1h",),  # the nodes send no heartbeats
    )
    with control_plane(options) as started:
        yield started


@pytest.fixture(scope="module")
def kubeconfig(running: ControlPlaneOnly) -> Path:
    return create_account(running)


@pytest.fixture(scope="module", autouse=True)
def _objects(running: ControlPlaneOnly, kubeconfig: Path) -> Iterator[None]:
    """What the facts are read from. Two GPUs are too many on one node of each pool."""
    data = {"whole": "version: v1\n", "strict": STRICT, "lenient": LENIENT}
    running.api.create(CONFIG_MAPS, {"metadata": {"name": PLUGIN}, "data": data})
    running.api.create(DAEMON_SETS, _daemon_set("v0.19.3"))
    for name in ("nvidia", "special"):
        running.api.create(CLASSES, {"metadata": {"name": name}, "handler": "nvidia"})
    with (
        namespace(running, TEAM),
        node_object(running, "whole-1", WHOLE | {"pool": "mixed"}, gpus=4),
        node_object(running, "mps-1", MPS | {"pool": "mixed"}, gpus=4),
        node_object(running, "strict-1", {CONFIG: "strict", "pool": "strict"}, gpus=4),
        node_object(running, "lenient-1", {CONFIG: "lenient", "pool": "lenient"}, gpus=4),
    ):
        yield


@contextmanager
def _patched(api: Api, path: str, change: Object, back: Object) -> Iterator[None]:
    api.patch(path, change)
    try:
        yield
    finally:
        api.patch(path, back)


@contextmanager
def _created(api: Api, path: str, body: Object) -> Iterator[None]:
    api.create(path, body)
    try:
        yield
    finally:
        api.delete(f"{path}/{body['metadata']['name']}")


@contextmanager
def _deleted(api: Api, path: str) -> Iterator[None]:
    collection = path.rpartition("/")[0]
    found = api.get(path)
    api.delete(path)
    try:
        yield
    finally:
        for name in ("uid", "resourceVersion", "creationTimestamp"):
            del found["metadata"][name]
        api.create(collection, found)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one source, undone at the end, and whether a server's verdicts show it."""

    resource: str
    make: Callable[[Api], AbstractContextManager[None]]
    shown: Callable[[Reviewer], bool]


def _allowed(pool: str, namespace: str = "default") -> Callable[[Reviewer], bool]:
    return lambda server: server.pod(_two(pool), namespace).allowed


def _lacks_runtime_class(server: Reviewer) -> bool:
    return "GPS011=warn" in server.pod(pod("special", runtimeClassName="special")).severities


def _injects_no_runtime_class(server: Reviewer) -> bool:
    answered = server.pod(pod("one"))
    return all(operation["path"] != "/spec/runtimeClassName" for operation in answered.patch)


NODE = "/api/v1/nodes/mps-1"
DEDICATED = {"key": "dedicated", "value": "team", "effect": "NoSchedule"}


def _config(text: str) -> Object:
    return {"data": {"strict": text}}


def _image(version: str) -> Object:
    return {
        "spec": {"template": {"spec": {"containers": _daemon_set(version)["spec"]["template"]["spec"]["containers"]}}}
    }


CHANGES = {
    "node-label": Change(
        "nodes",
        lambda api: _patched(api, NODE, {"metadata": {"labels": WHOLE}}, {"metadata": {"labels": MPS}}),
        _allowed("mixed"),
    ),
    "node-taint": Change(
        "nodes",
        lambda api: _patched(api, NODE, {"spec": {"taints": [DEDICATED]}}, {"spec": {"taints": []}}),
        _allowed("mixed"),
    ),
    "node-allocatable": Change(
        "nodes",
        lambda api: _patched(
            api, f"{NODE}/status", {"status": {"allocatable": {GPU: "1"}}}, {"status": {"allocatable": {GPU: "4"}}}
        ),
        _allowed("mixed"),
    ),
    "node-deletion": Change("nodes", lambda api: _deleted(api, NODE), _allowed("mixed")),
    "namespace-label": Change(
        "namespaces",
        lambda api: _patched(
            api,
            f"/api/v1/namespaces/{TEAM}",
            {"metadata": {"labels": {"gpu-rules": "lenient"}}},
            {"metadata": {"labels": {"gpu-rules": None}}},
        ),
        _allowed("mixed", TEAM),
    ),
    "runtime-class-deletion": Change(
        "runtimeclasses", lambda api: _deleted(api, f"{CLASSES}/special"), _lacks_runtime_class
    ),
    "runtime-class-of-cdi": Change(
        "runtimeclasses",
        lambda api: _created(api, CLASSES, {"metadata": {"name": "nvidia-legacy"}, "handler": "nvidia"}),
        _injects_no_runtime_class,
    ),
    "device-class": Change(
        "deviceclasses",
        lambda api: _created(api, DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}),
        _allowed("of-a-driver"),
    ),
    "config-map": Change(
        "configmaps",
        lambda api: _patched(api, f"{CONFIG_MAPS}/{PLUGIN}", _config(STRICT.replace("true", "false")), _config(STRICT)),
        _allowed("strict"),
    ),
    "daemon-set-image": Change(
        "daemonsets",
        lambda api: _patched(api, f"{DAEMON_SETS}/{PLUGIN}", _image("v0.20.0"), _image("v0.19.3")),
        _allowed("lenient"),
    ),
}


@pytest.fixture(scope="module")
def server(running: ControlPlaneOnly, kubeconfig: Path, _objects: None) -> Iterator[Reviewer]:
    with reviewer(running, SETTINGS, kubeconfig) as started:
        yield started


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_verdicts_follow_change(
    running: ControlPlaneOnly, server: Reviewer, change: Change, record_property: Callable[[str, object], None]
) -> None:
    wait_for("the facts to be in force", lambda: not change.shown(server))
    with change.make(running.api):
        changed = time.monotonic()
        wait_for("the change", lambda: change.shown(server), seconds=SECONDS + ALLOWANCE, every=0.05)
        record_property("in verdicts after", f"{time.monotonic() - changed:.2f} s")
    undone = time.monotonic()
    wait_for("the change back", lambda: not change.shown(server), seconds=SECONDS + ALLOWANCE, every=0.05)
    record_property("undone in verdicts after", f"{time.monotonic() - undone:.2f} s")
    assert server.webhook.process.running


MISSING = [(resource, verb) for resource, rule in RULES.items() for verb in rule["verbs"]]


@pytest.mark.parametrize(("resource", "verb"), MISSING, ids=[f"{verb}-{resource}" for resource, verb in MISSING])
def test_missing_verb_is_named_once_and_granted_without_restart(
    running: ControlPlaneOnly, kubeconfig: Path, resource: str, verb: str
) -> None:
    change = next(change for change in CHANGES.values() if change.resource == resource)
    before = len(_refused(running))
    grant(running, without=(resource, verb))
    try:
        with reviewer(running, SETTINGS, kubeconfig) as server:
            wait_for("two forbidden requests", lambda: len(_refused(running)) >= before + 2, seconds=60)
            assert server.health("/livez")[0] == 200
            assert not server.pod(_two("mixed")).allowed
            grant(running)
            with change.make(running.api):
                wait_for("the facts", lambda: change.shown(server), seconds=90)
            wait_for("the facts to follow", lambda: not change.shown(server), seconds=SECONDS + ALLOWANCE)
            named = [entry for entry in server.log() if f"not allowed to {verb} {resource}" in str(entry)]
            assert len(named) == 1, named
            assert _rule(resource) in str(named[0])
    finally:
        grant(running)


def _refused(running: ControlPlaneOnly) -> list[audit.Request]:
    return [asked for asked in audit.requests(running.control, "default", ACCOUNT) if asked.refused]


def _rule(resource: str) -> str:
    """The rule of a role that the log names, which can be pasted."""
    return f"resources: [{resource}]"
