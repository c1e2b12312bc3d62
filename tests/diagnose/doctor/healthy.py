"""The objects of a cluster that is well: the node side of NVIDIA's chart, our webhook from its own, and GPU pods."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from tests.cli.cluster import FakeCluster
from tests.diagnose.both import put
from webhook.cluster import objects as kinds
from webhook.cluster.installations import RENDER
from webhook.cluster.objects import Kind
from webhook.pki import Authority

Object = dict[str, Any]

STACK, OURS, TEAM = "nvidia-device-plugin", "gpushare-webhook", "team"
PLUGIN, DAEMON, DISCOVERY, CONFIGS = "plugin", "mps-daemon", "discovery", "plugin-configs"
CONFIG, CAPABLE, PRESENT = "nvidia.com/device-plugin.config", "nvidia.com/mps.capable", "nvidia.com/gpu.present"
IN_FORCE = f"{OURS}/{OURS}@2"
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"


def remove(cluster: FakeCluster, kind: Kind, name: str, namespace: str | None = None) -> None:
    """Remove an object."""
    found = cluster.objects.pop(kind.path(namespace, name))
    for where in {None, namespace}:
        cluster.lists[kind.path(where)].remove(found)


def remove_daemon_set(cluster: FakeCluster, name: str) -> None:
    """Remove a DaemonSet of the stack, and its pods."""
    remove(cluster, kinds.DAEMON_SET, name, STACK)
    for on in ("gpu-1", "gpu-2"):
        remove(cluster, kinds.POD, f"{name}-{on}", STACK)


def label(cluster: FakeCluster, name: str, key: str, value: str | None) -> None:
    """Set or remove a label of a node."""
    labels = cluster.objects[kinds.NODE.path(None, name)]["metadata"]["labels"]
    labels.pop(key, None)
    labels |= {} if value is None else {key: value}


def configure(cluster: FakeCluster, **texts: str) -> None:
    """Add configurations of the plugin."""
    cluster.objects[kinds.CONFIG_MAP.path(STACK, CONFIGS)]["data"].update(texts)


def put_settings(cluster: FakeCluster, text: str) -> None:
    """Replace the settings of our webhook, as the chart does: without `guard.enabled`, there is no guard."""
    cluster.objects[kinds.CONFIG_MAP.path(OURS, OURS)]["data"]["settings.yaml"] = text
    for kind in (kinds.POLICY, kinds.POLICY_BINDING):
        if kind.path(None, f"{OURS}-guard") in cluster.objects:
            remove(cluster, kind, f"{OURS}-guard")


def put_event(
    cluster: FakeCluster, reason: str, message: str, name: str, kind: str = "Pod", namespace: str = TEAM
) -> None:
    """Add an event about an object, from a kubelet of its own."""
    number = len(cluster.lists.get(kinds.EVENT.path(), ()))
    event = {
        "metadata": {"name": f"e-{number}", "namespace": namespace},
        "reason": reason,
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace},
        "message": message,
        "source": {"component": "kubelet", "host": f"host-{number}"},
    }
    put(cluster, kinds.EVENT, event)


def mps(replicas: int) -> str:
    """A configuration of the plugin."""
    resources = [{"name": "nvidia.com/gpu", "replicas": replicas}]
    return json.dumps({"version": "v1", "sharing": {"mps": {"resources": resources}}})


def node(name: str, units: int = 4, taints: tuple[Object, ...] = (), labels: dict[str, str] | None = None) -> Object:
    """A node with one card that MPS shares in four, and the labels of discovery."""
    discovered = {
        PRESENT: "true",
        CAPABLE: "true",
        "nvidia.com/gpu.sharing-strategy": "mps",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.replicas": "4",
        "nvidia.com/gfd.timestamp": "1790000000",
    }
    amounts = {"cpu": "8", "nvidia.com/gpu": str(units)}
    return {
        "metadata": {"name": name, "labels": {**discovered, **(labels or {})}},
        "spec": {"taints": list(taints)},
        "status": {"capacity": dict(amounts), "allocatable": dict(amounts)},
    }


def daemon_set(name: str, container: str, wanted: int = 2, namespace: str = STACK, **spec: Any) -> Object:
    """A DaemonSet of the stack."""
    manager = {
        "name": "init",
        "image": IMAGE,
        "command": ["config-manager"],
        "env": [
            {"name": "CONFIG_FILE_SRCDIR", "value": "/available-configs"},
            {"name": "DEFAULT_CONFIG", "value": "mps-4"},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        "volumeMounts": [{"name": "configs", "mountPath": "/available-configs"}],
    }
    pod = {
        "initContainers": [manager],
        "containers": [{"name": container, "image": IMAGE}],
        "volumes": [{"name": "configs", "configMap": {"name": CONFIGS}}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {PRESENT: "true"},
        **spec,
    }
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": pod}},
        "status": {"desiredNumberScheduled": wanted, "numberReady": wanted},
    }


def pod(name: str, namespace: str, owner: tuple[str, str] | None = None, on: str = "gpu-1", **spec: Any) -> Object:
    """A pod that runs and is ready."""
    owners = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    return {
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners},
        "spec": {"nodeName": on, **spec},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def asking(units: int = 1) -> list[Object]:
    """The containers of a GPU pod."""
    return [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": str(units)}}}]


@cache
def bundle(days: int = 365) -> str:
    """The certificate of an authority, as a `caBundle`."""
    now = datetime.now(UTC)
    return b64encode(Authority.create("tests", now - timedelta(days=1), timedelta(days=days)).bundle()).decode()


def hook(kind: Kind) -> Object:
    """One of our webhook configurations, as the chart renders it."""
    return {
        "metadata": {"name": OURS},
        "webhooks": [
            {
                "name": f"{name}.gpushare-webhook.io",
                "clientConfig": {"caBundle": bundle(), "service": {"namespace": OURS, "name": OURS}},
                "rules": [{"resources": resources}],
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", OURS]},
                        {"key": "gpushare-webhook/ignore", "operator": "NotIn", "values": ["true"]},
                    ]
                },
            }
            for name, resources in (("pods", ["pods"]), ("templates", ["deployments"]))
        ],
        "kind": kind.name,
    }


def replica(name: str, image: str = "registry.test/gpushare-webhook:1") -> Object:
    """A replica of the webhook."""
    found = pod(name, OURS, ("ReplicaSet", f"{OURS}-1"), containers=[{"name": "webhook", "image": image}])
    found["metadata"]["labels"] = {"app.kubernetes.io/instance": OURS}
    return found


def report(cluster: FakeCluster, name: str, seconds: int, digest: str = "1.8764998447377e+014") -> None:
    """Let a replica report the end of its certificate, in this many seconds, and the digest of its settings."""
    ends = datetime.now(UTC).timestamp() + seconds
    cluster.texts[f"{kinds.POD.path(OURS, name)}:8080/proxy/metrics"] = (
        f'# TYPE gpushare_webhook_digest gauge\ngpushare_webhook_digest{{of="settings"}} {digest}\n'
        f'gpushare_webhook_certificate_expiry_seconds{{kind="leaf"}} {ends}\n'
    )


SETTINGS = f"""\
facts: {{nodes: true, namespaces: true, devicePlugin: {{configMaps: [{STACK}/{CONFIGS}], daemonSet: {STACK}/{PLUGIN}}}}}
namespaces: [{{names: [{TEAM}], mode: warn}}]
guard: {{enabled: true}}
"""


def healthy() -> FakeCluster:
    """A cluster with two MPS nodes and a node without GPUs, in which everything is well."""
    cluster = FakeCluster()
    for name in ("gpu-1", "gpu-2"):
        put(cluster, kinds.NODE, node(name))
    put(cluster, kinds.NODE, {"metadata": {"name": "cpu-1"}, "status": {"allocatable": {"cpu": "4"}}})
    put(cluster, kinds.CONFIG_MAP, {"metadata": {"name": CONFIGS, "namespace": STACK}, "data": {"mps-4": mps(4)}})
    put(cluster, kinds.DAEMON_SET, daemon_set(PLUGIN, "nvidia-device-plugin-ctr"))
    put(
        cluster,
        kinds.DAEMON_SET,
        daemon_set(DAEMON, "mps-control-daemon-ctr", nodeSelector={PRESENT: "true", CAPABLE: "true"}),
    )
    put(cluster, kinds.DAEMON_SET, daemon_set(DISCOVERY, "gpu-feature-discovery-ctr"))
    for name, container in (
        (PLUGIN, "nvidia-device-plugin-ctr"),
        (DAEMON, "mps-control-daemon-ctr"),
        (DISCOVERY, "gpu-feature-discovery-ctr"),
    ):
        for on in ("gpu-1", "gpu-2"):
            containers = [{"name": container, "image": IMAGE}]
            put(cluster, kinds.POD, pod(f"{name}-{on}", STACK, ("DaemonSet", name), on, containers=containers))
    put(cluster, kinds.POD, pod("train", TEAM, runtimeClassName="nvidia", containers=asking()))
    for name in ("default", "kube-system", STACK, OURS, TEAM):
        put(cluster, kinds.NAMESPACE, {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}})
    put(cluster, kinds.RUNTIME_CLASS, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
    _install(cluster)
    return cluster


def rendered(name: str, namespace: str = "", render: str = IN_FORCE) -> Object:
    """An object of the chart: its metadata, with the render in force or another one."""
    found: Object = {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {RENDER: render}}
    found["labels"] = {"app.kubernetes.io/instance": OURS}
    return {"metadata": {**found, "namespace": namespace} if namespace else found}


def _install(cluster: FakeCluster) -> None:
    """Add our webhook, with two replicas."""
    put(cluster, kinds.MUTATING, hook(kinds.MUTATING))
    put(cluster, kinds.VALIDATING, hook(kinds.VALIDATING))
    labels = {"app.kubernetes.io/instance": OURS}
    metadata = {"name": OURS, "namespace": OURS, "labels": {"app.kubernetes.io/name": OURS, **labels}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"spec": {}}}
    put(cluster, kinds.DEPLOYMENT, {"metadata": metadata, "spec": spec, "status": {"readyReplicas": 2}})
    for name in ("webhook-1", "webhook-2"):
        put(cluster, kinds.POD, replica(name))
        report(cluster, name, 3600 * 24 * 7)
    put(cluster, kinds.SERVICE_ACCOUNT, {"metadata": {"name": f"{OURS}-mode", "namespace": OURS, "annotations": {}}})
    for kind in (kinds.POLICY, kinds.POLICY_BINDING):
        put(cluster, kind, {"metadata": {"name": f"{OURS}-guard"}})
    put(cluster, kinds.CONFIG_MAP, {**rendered(OURS, OURS), "data": {"settings.yaml": SETTINGS}})
    ends = [{"conditions": {"ready": True}}, {"conditions": {"ready": True}}]
    service = {"name": f"{OURS}-1", "namespace": OURS, "labels": {"kubernetes.io/service-name": OURS}}
    put(cluster, kinds.ENDPOINT_SLICE, {"metadata": service, "endpoints": ends})
