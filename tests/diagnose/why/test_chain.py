"""Each link of the chain, from a card to the pod, in the ways in which it breaks; the answers were written before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import GPU, Object, container, pod
from tests.diagnose.why.site import (
    CONFIGS,
    PRESENT,
    a_node,
    answers,
    config_map,
    daemon,
    discovery,
    plugin,
    saved,
    sharing,
    waiting,
)

MPS = {
    **PRESENT,
    "nvidia.com/mps.capable": "true",
    "nvidia.com/gpu.sharing-strategy": "mps",
    "nvidia.com/gpu.count": "1",
}
ONE_CARD = {**PRESENT, "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "1"}
TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
SHARED = f"{GPU}.shared"
EFA = "vpc.amazonaws.com/efa"
FOUR, MPS_FOUR, RENAMED = sharing(), sharing("mps"), sharing(renameByDefault=True)


def names_file(path: str = "/config/any", *, option: bool = False) -> Object:
    """The container of a plugin that reads a file."""
    mounts = [{"name": "configs", "mountPath": "/config"}]
    if option:
        return {"args": [f"--config-file={path}"], "volumeMounts": mounts}
    return {"env": [{"name": "CONFIG_FILE", "value": path}], "volumeMounts": mounts}


def dead(reason: str, message: str = "") -> Object:
    """The fields of a DaemonSet whose pods do not start."""
    return {"ready": False, "detail": {"waiting": {"reason": reason, "message": message}}}


def case(name: str, cause: str, words: str, remedy: str, *found: Any) -> Any:
    return pytest.param(found, cause, words, remedy, id=name)


def unhealthy(has: int, offers: int, labels: Object | None = None) -> Object:
    """A node that offers fewer cards, or replicas of them, than it has: the others are not healthy."""
    found = a_node(labels=PRESENT if labels is None else labels, gpus=offers)
    found["status"]["capacity"] = {**found["status"]["allocatable"], GPU: str(has)}
    return found


HARDWARE = [
    case(
        "sign",
        "resource-not-offered",
        "the cluster has no device plugin",
        "install NVIDIA's device plugin",
        waiting(),
        a_node(labels=PRESENT),
    ),
    case("no-sign", "resource-not-offered", "no label of a node", "add nodes with GPUs", waiting(), a_node()),
    case(
        "bottlerocket",
        "resource-not-offered",
        "gpu-1",
        "kubectl describe node gpu-1",
        waiting(),
        a_node(labels=PRESENT, image="Bottlerocket OS 1.40 (aws-k8s-1.34-nvidia)"),
    ),
]

PLACED = [
    case(
        "plugin-wants-label",
        "resource-not-offered",
        "selects other nodes",
        "kubectl label node gpu-1 nvidia.com/gpu.present=true",
        waiting(),
        a_node(labels={"feature.node.kubernetes.io/pci-0300_10de.present": "true"}),
        config_map(default=FOUR),
        plugin(on=(), nodeSelector=PRESENT),
    ),
    case(
        "plugin-of-another-pool",
        "resource-not-offered",
        "selects other nodes",
        "change nodeSelector",
        waiting(),
        a_node(labels={"kubernetes.azure.com/accelerator": "nvidia"}),
        config_map(default=FOUR),
        plugin(on=(), nodeSelector={"pool": "old"}),
    ),
    case(
        "plugin-does-not-tolerate",
        "resource-not-offered",
        "does not tolerate the taint team=ml:NoSchedule",
        "key: team",
        waiting(tolerations=[{"operator": "Exists"}]),
        a_node(labels=PRESENT, taints=[TAINT]),
        config_map(default=FOUR),
        plugin(on=(), nodeSelector=PRESENT),
    ),
    case(
        "plugin-switched-off-by-a-label",
        "resource-not-offered",
        "selects other nodes by nvidia.com/gpu.deploy.device-plugin=true",
        "kubectl label node gpu-1 nvidia.com/gpu.deploy.device-plugin=true --overwrite",
        waiting(),
        a_node(labels={**PRESENT, "nvidia.com/gpu.deploy.device-plugin": "false"}),
        config_map(default=FOUR),
        plugin(on=(), nodeSelector={"nvidia.com/gpu.deploy.device-plugin": "true"}),
    ),
    case(
        "node-shown-by-its-taint",
        "resource-not-offered",
        "the cluster has no device plugin",
        "install NVIDIA's device plugin",
        waiting(),
        a_node(taints=[{"key": GPU, "value": "true", "effect": "NoSchedule"}]),
    ),
    case(
        "plugin-of-asking-tenant",
        "resource-not-offered",
        "gpu-1",
        "",
        waiting(),
        a_node(labels=PRESENT),
        [{**one, "metadata": {**one["metadata"], "namespace": "team-a"}} for one in plugin(with_manager=False)],
    ),
]

RUNS = [
    case(
        "plugin-crashes",
        "resource-not-ready",
        "the device plugin on node gpu-1 is not ready",
        "logs pod/plugin-gpu-1",
        waiting(),
        a_node(labels=PRESENT, gpus=0),
        config_map(default=FOUR),
        plugin(**dead("CrashLoopBackOff", "back-off 5m0s")),
    ),
    case(
        "plugin-image",
        "resource-not-ready",
        "the device plugin on node gpu-1 is not ready",
        "describe pod/plugin-gpu-1",
        waiting(),
        a_node(labels=PRESENT, gpus=0),
        config_map(default=FOUR),
        plugin(**dead("ImagePullBackOff", "not found")),
    ),
    case(
        "plugin-waits-for-toolkit",
        "resource-not-offered",
        "the device plugin on node gpu-1 is not ready",
        "describe pod/plugin-gpu-1",
        waiting(),
        a_node(labels=PRESENT),
        config_map(default=FOUR),
        plugin(
            ready=False,
            detail={"waiting": {"reason": "PodInitializing"}},
            init=[{"name": "toolkit-validation", "state": {"running": {}}}],
        ),
    ),
    case(
        "plugin-pod-not-made-yet",
        "resource-not-offered",
        "the device plugin on node gpu-1 is not ready",
        "daemonset/plugin",
        waiting(),
        a_node(labels=PRESENT),
        config_map(default=FOUR),
        plugin(on=()),
    ),
    case(
        "plugin-registers-nothing",
        "resource-not-ready",
        "the plugin registered nothing",
        "logs daemonset/plugin",
        waiting(),
        a_node(labels=ONE_CARD, gpus=0),
        config_map(default=FOUR),
        plugin(),
    ),
    case(
        "more-replicas-than-clients",
        "resource-not-ready",
        "MPS does not start with 49 replicas, since a card of this node serves 48 clients",
        "at most 48 replicas",
        waiting(),
        a_node(labels=MPS, gpus=0),
        config_map(default=sharing("mps", 49)),
        plugin(),
        daemon(),
    ),
    case(
        "more-replicas-than-clients-of-an-old-card",
        "resource-not-ready",
        "MPS does not start with 17 replicas, since a card of this node serves 16 clients",
        "at most 16 replicas",
        waiting(),
        a_node(labels={**MPS, "nvidia.com/gpu.family": "volta"}, gpus=0),
        config_map(default=sharing("mps", 17)),
        plugin(),
        daemon(),
    ),
    case(
        "plugin-of-manifest-registers-nothing",
        "resource-not-ready",
        "the plugin registered nothing",
        "logs daemonset/plugin",
        waiting(),
        a_node(labels=ONE_CARD, gpus=0),
        plugin(with_manager=False),
    ),
]

CONFIGURED = [
    case(
        "label-unknown",
        "resource-not-ready",
        "names no configuration",
        "nvidia.com/device-plugin.config=default",
        waiting(),
        a_node(labels={**PRESENT, "nvidia.com/device-plugin.config": "nope"}, gpus=0),
        config_map(default=FOUR),
        plugin(),
    ),
    case(
        "variables-of-config-map",
        "resource-not-offered",
        "does not read the configuration in ConfigMap nvidia-device-plugin/configs",
        "CONFIG_FILE=/config/any",
        waiting(asks={SHARED: 1}),
        a_node(labels=ONE_CARD, gpus=1),
        config_map(any=RENAMED) | {"data": {"any": RENAMED, "number": 1}},  # which a file may hold, and a cluster not
        plugin(with_manager=False, container={"envFrom": [{"configMapRef": {"name": "configs"}}]}),
    ),
    case(
        "mounted-and-not-named",
        "resource-not-offered",
        "does not read the configuration",
        "CONFIG_FILE=/config/any",
        waiting(asks={SHARED: 1}),
        a_node(labels=ONE_CARD, gpus=1),
        config_map(any=RENAMED),
        plugin(
            with_manager=False,
            volumes=CONFIGS,
            container={"volumeMounts": [{"name": "configs", "mountPath": "/config"}]},
        ),
    ),
    *(
        case(
            f"edited-{name}",
            "resource-not-offered",
            "was not restarted since the edit",
            "rollout restart daemonset/plugin",
            waiting(asks={SHARED: 1}),
            a_node(labels=ONE_CARD, gpus=1),
            config_map(any=RENAMED),
            plugin(with_manager=False, volumes=CONFIGS, container=names_file(option=option)),
        )
        for name, option in (("variable", False), ("option", True))
    ),
    case(
        "file-from-another-map",
        "resource-not-offered",
        "was not restarted since the edit",
        "rollout restart daemonset/plugin",
        waiting(asks={SHARED: 1}),
        a_node(labels=ONE_CARD, gpus=1),
        config_map(any=RENAMED),
        config_map("options", file="/config/any"),
        plugin(
            with_manager=False,
            volumes=CONFIGS,
            container={
                "env": [{"name": "CONFIG_FILE", "valueFrom": {"configMapKeyRef": {"name": "options", "key": "file"}}}],
                "volumeMounts": [{"name": "configs", "mountPath": "/config"}],
            },
        ),
    ),
    case(
        "map-does-not-exist",
        "resource-not-offered",
        "does not exist",
        "create the ConfigMap",
        waiting(),
        a_node(labels=PRESENT),
        plugin(**dead("ContainerCreating")),
    ),
    case(
        "refused",
        "resource-not-ready",
        "refuses its configuration",
        "kubectl -n nvidia-device-plugin edit configmap configs",
        waiting(),
        a_node(labels=ONE_CARD, gpus=0),
        config_map(default=sharing(replicas=1)),
        plugin(**dead("CrashLoopBackOff")),
    ),
    case(
        "label-without-reader",
        "resource-not-offered",
        "nothing reads the label nvidia.com/device-plugin.config",
        "config.name",
        waiting(asks={SHARED: 1}),
        a_node(labels={**ONE_CARD, "nvidia.com/device-plugin.config": "slices"}, gpus=1),
        config_map(slices=RENAMED),
        plugin(with_manager=False),
    ),
    case(
        "projected-and-renamed-key",
        "resource-not-offered",
        "was not restarted since the edit",
        "rollout restart",
        waiting(asks={SHARED: 1}),
        a_node(labels=ONE_CARD, gpus=1),
        config_map(any=RENAMED),
        plugin(
            with_manager=False,
            container=names_file("/config/file.yaml"),
            volumes=[
                {
                    "name": "configs",
                    "projected": {
                        "sources": [{"configMap": {"name": "configs", "items": [{"key": "any", "path": "file.yaml"}]}}]
                    },
                }
            ],
        ),
    ),
]

DAEMON = [
    case(
        "daemon-missing",
        "resource-not-ready",
        "no DaemonSet of the MPS control daemon",
        "install NVIDIA's device plugin with its chart",
        waiting(),
        a_node(labels=MPS, gpus=0),
        config_map(default=MPS_FOUR),
        plugin(),
        discovery(),
    ),
    case(
        "daemon-selects-no-node",
        "resource-not-offered",
        "GPU feature discovery is not installed",
        "gfd.enabled: true",
        waiting(),
        a_node(labels=PRESENT),
        config_map(default=MPS_FOUR),
        plugin(),
        daemon(on=()),
    ),
    case(
        "daemon-before-plugin",
        "resource-not-ready",
        "the MPS control daemon on node gpu-1 is not ready",
        "logs pod/mps-gpu-1",
        waiting(),
        a_node(labels=MPS, gpus=0),
        config_map(default=MPS_FOUR),
        plugin(**dead("CrashLoopBackOff")),
        discovery(),
        daemon(**dead("CrashLoopBackOff")),
    ),
    case(
        "daemon-does-not-tolerate",
        "resource-not-ready",
        "MPS control daemon starts there",
        "key: team",
        waiting(tolerations=[{"operator": "Exists"}]),
        a_node(labels=MPS, taints=[TAINT], gpus=0),
        config_map(default=MPS_FOUR),
        plugin(tolerations=[{"operator": "Exists"}]),
        discovery(),
        daemon(on=()),
    ),
    case(
        "shares-that-an-xid-took",
        "resource-not-ready",
        "config default, allocatable 0: the device plugin reports GPUs as unhealthy",
        "look for Xid errors in the kernel log of the node; then",
        waiting(),
        unhealthy(4, 0, labels=ONE_CARD),
        config_map(default=FOUR),
        plugin(),
        daemon(),
    ),
    case(
        "shares-that-an-xid-took-before-an-edit",
        "resource-not-ready",
        "config default, allocatable 0: the device plugin reports GPUs as unhealthy",
        "look for Xid errors in the kernel log of the node; then",
        waiting(),
        unhealthy(2, 0, labels=ONE_CARD),
        config_map(default=FOUR),
        plugin(),
        daemon(),
    ),
    case(
        "cards-that-an-xid-took",
        "resource-not-ready",
        "its device plugin reports all 4 as unhealthy, as after an Xid error",
        "look for Xid errors in the kernel log of the node by kubectl debug node/gpu-1 ",
        waiting(),
        unhealthy(4, 0),
        plugin(with_manager=False),
    ),
    case(
        "no-daemon-needed",
        "resource-not-ready",
        "registered nothing",
        "logs daemonset/plugin",
        waiting(),
        a_node(labels=ONE_CARD, gpus=0),
        config_map(default=FOUR),
        plugin(),
        daemon(on=()),
    ),
]

OFFERS = [
    case(
        "left-at-zero",
        "resource-not-offered",
        f"no node offers {GPU}",
        f"ask for {SHARED}",
        waiting(),
        a_node(labels=PRESENT, gpus=0, **{SHARED: 8}),
    ),
    case(
        "renamed",
        "resource-not-offered",
        f"no node offers {GPU}",
        f"ask for {SHARED}",
        waiting(),
        a_node(labels=PRESENT, **{SHARED: 8}),
    ),
    case(
        "typo",
        "resource-not-offered",
        "no node offers nvidia.com/gpus",
        f"ask for {GPU}",
        waiting(asks={"nvidia.com/gpus": 1}),
        a_node(labels=PRESENT, gpus=4),
    ),
    case(
        "too-many",
        "amount-too-large",
        "asks for 8",
        "ask for at most 4",
        waiting(asks={GPU: 8}),
        a_node(labels=PRESENT, gpus=4),
    ),
    case(
        "own-pool-without",
        "resource-not-ready",
        '"h100-1" meets the selectors',
        "h100-1",
        waiting(nodeSelector={"pool": "h100"}),
        a_node("t4-1", {"pool": "t4", **PRESENT}, gpus=1),
        a_node("h100-1", {"pool": "h100"}),
    ),
    case(
        "own-pool-with-mig",
        "resource-not-offered",
        '"a100-1" meets the selectors',
        "ask for nvidia.com/mig-1g.10gb",
        waiting(nodeSelector={"pool": "a100"}),
        a_node("t4-1", {"pool": "t4", **PRESENT}, gpus=1),
        a_node("a100-1", {"pool": "a100", **PRESENT}, **{"nvidia.com/mig-1g.10gb": 7}),
    ),
    case(
        "own-pool-crashes",
        "resource-not-ready",
        "the device plugin on node h100-1 is not ready",
        "logs pod/plugin-h100-1",
        waiting(nodeSelector={"pool": "h100"}),
        a_node("t4-1", {"pool": "t4", **PRESENT}, gpus=1),
        a_node("h100-1", {"pool": "h100", **PRESENT}),
        config_map(default=FOUR),
        plugin(on=("h100-1",), **dead("CrashLoopBackOff")),
    ),
    case(
        "no-such-pool",
        "node-selector",
        "pool=h200",
        "pool",
        waiting(nodeSelector={"pool": "h200"}),
        a_node("t4-1", {"pool": "t4", **PRESENT}, gpus=1),
    ),
    case(
        "cordoned",
        "node-not-ready",
        "node.kubernetes.io/unschedulable",
        "kubectl uncordon gpu-1",
        waiting(),
        a_node(labels=PRESENT, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}], gpus=4),
    ),
    case(
        "not-ready",
        "node-not-ready",
        "node.kubernetes.io/unreachable",
        "kubectl describe node gpu-1",
        waiting(),
        a_node(labels=PRESENT, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}], gpus=4),
    ),
    case(
        "tainted",
        "taint",
        "team=ml:NoSchedule",
        'tolerate {key: "team", value: "ml", effect: NoSchedule}',
        waiting(),
        a_node(labels=PRESENT, taints=[TAINT], gpus=4),
    ),
    case(
        "network-device-at-zero",
        "other-resources",
        f"node gpu-1 offers 0 of {EFA}",
        "describe node gpu-1",
        waiting(f"1 Insufficient {EFA}", f"2 Insufficient {GPU}", asks={GPU: 8, EFA: 32}),
        a_node(labels=PRESENT, gpus=8, **{EFA: 0}),
        a_node("cpu-1"),
    ),
    case(
        "too-few-network-devices",
        "other-resources",
        f"node gpu-1 offers 4 of {EFA}",
        "ask for at most 4",
        waiting(f"1 Insufficient {EFA}", asks={GPU: 8, EFA: 32}),
        a_node(labels=PRESENT, gpus=8, **{EFA: 4}),
    ),
    case(
        "cpu",
        "other-resources",
        "Insufficient cpu",
        "lower the requests",
        waiting("2 Insufficient cpu"),
        a_node(labels=PRESENT, gpus=2),
        a_node("gpu-2", PRESENT, gpus=2),
        pod("hold-1", node="gpu-1"),
        pod("hold-2", node="gpu-2"),
    ),
]


def held(name: str, amount: int = 1, **fields: Any) -> Object:
    return pod(name, container("main", amount), node="gpu-1", **fields)


PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
NEVER_STARTED = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": PULL}]}
LEFT_OVER = {
    "containerStatuses": [
        {"name": "main", "state": {"terminated": {"exitCode": 0}}},
        {"name": "p", "state": {"running": {}}},
    ]
}


def rollout(strategy: Object, replicas: int = 1) -> list[Object]:
    """A Deployment whose new pod waits beside its old ones."""
    metadata = {"name": "serve", "namespace": "team-a"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": replicas, "strategy": strategy},
    }
    made = []
    for name in ("serve-7d", "serve-9f"):
        owner = [{"kind": "Deployment", "name": "serve", "controller": True}]
        made.append(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": name, "namespace": "team-a", "ownerReferences": owner},
                "spec": {"template": {"spec": {}}},
            }
        )
    return [deployment, *made]


NO_SURGE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
OLD, NEW = ("ReplicaSet", "serve-7d"), ("ReplicaSet", "serve-9f")
ENDING = {"deletionTimestamp": "2026-01-01T00:05:00Z"}


def ending(name: str) -> Object:
    found = held(name)
    found["metadata"] |= ENDING
    return found


HOLDERS = [
    case(
        "others",
        "replicas-held",
        "others hold",
        "top -A",
        waiting(),
        a_node(labels=PRESENT, gpus=2),
        held("a", owner=("ReplicaSet", "x-1")),
        held("b", owner=("Job", "y")),
    ),
    case(
        "one-bare-pod",
        "replicas-held",
        "others hold",
        "kubectl delete pod gpu-test -n default",
        waiting(),
        a_node(labels=PRESENT, gpus=1),
        held("gpu-test", namespace="default"),
    ),
    case(
        "being-deleted",
        "replicas-held",
        "pods that are being deleted hold 2",
        "wait until they have ended",
        waiting(),
        a_node(labels=PRESENT, gpus=2),
        ending("a"),
        ending("b"),
    ),
    case(
        "own-old-pod",
        "replicas-held",
        "the rollout waits for itself",
        "maxUnavailable",
        waiting(owner=NEW),
        a_node(labels=PRESENT, gpus=1),
        held("serve-7d-x", owner=OLD),
        rollout({}),
    ),
    case(
        "own-old-pods-without-unavailable",
        "replicas-held",
        "its old pods hold 2",
        "kubectl patch deployment/serve -p",
        waiting(owner=NEW),
        a_node(labels=PRESENT, gpus=2),
        held("serve-7d-x", owner=OLD),
        held("serve-7d-y", owner=OLD),
        rollout(NO_SURGE, 2),
    ),
    case(
        "own-old-pod-that-never-started",
        "replicas-held",
        "the rollout waits for itself",
        "maxUnavailable",
        waiting(owner=NEW),
        a_node(labels=PRESENT, gpus=1),
        held("serve-7d-x", owner=OLD, status=NEVER_STARTED),
        rollout({}),
    ),
    case(
        "own-old-pod-that-may-end",
        "replicas-held",
        "hold the replicas",
        "top -A",
        waiting(owner=NEW),
        a_node(labels=PRESENT, gpus=1),
        held("serve-7d-x", owner=OLD),
        rollout({"rollingUpdate": {"maxUnavailable": 1}}),
    ),
    case(
        "own-pods-of-same-revision",
        "replicas-held",
        "its own pods hold",
        "kubectl scale deployment/serve --replicas=1 -n team-a",
        waiting(owner=NEW),
        a_node(labels=PRESENT, gpus=1),
        held("serve-9f-x", owner=NEW),
        rollout({}, 2),
    ),
    case(
        "network-device-held",
        "replicas-held",
        f"the replicas of {EFA}",
        "",
        waiting(f"1 Insufficient {EFA}", asks={GPU: 1, EFA: 1}),
        a_node(labels=PRESENT, gpus=8, **{EFA: 1}),
        pod("other", {"name": "c", "resources": {"limits": {EFA: 1, GPU: 1}}}, node="gpu-1", owner=("Job", "y")),
    ),
    case(
        "holder-that-never-started",
        "replicas-held",
        "pod team-a/a does not use what it holds: not started: container main: ImagePullBackOff not found",
        "correct that pod, or delete it: kubectl gpushare why a -n team-a",
        waiting(),
        a_node(labels=PRESENT, gpus=2),
        held("a", owner=("Job", "y"), status=NEVER_STARTED),
        held("b", owner=("Job", "z")),
    ),
    case(
        "holder-whose-sidecar-runs-on",
        "replicas-held",
        "pod team-a/a does not use what it holds: container main has ended, and p runs on",
        "kubectl gpushare why a -n team-a",
        waiting(),
        a_node(labels=PRESENT, gpus=1),
        held("a", owner=("Job", "y"), status=LEFT_OVER, spec={"restartPolicy": "Never"}),
    ),
    case(
        "unhealthy-cards",
        "replicas-held",
        "others hold",
        "who holds them; look why devices of a node are not healthy: kubectl describe node gpu-1",
        waiting(),
        unhealthy(4, 2),
        held("a", 2, owner=("Job", "y")),
    ),
    case(
        "room-again",
        "replicas-held",
        "has room now",
        "the scheduler tries again",
        waiting(),
        a_node(labels=PRESENT, gpus=2),
        held("a"),
    ),
]


@pytest.mark.parametrize(
    ("found", "cause", "words", "remedy"), [*HARDWARE, *PLACED, *RUNS, *CONFIGURED, *DAEMON, *OFFERS, *HOLDERS]
)
def test_first_broken_link_is_named(found: list[Any], cause: str, words: str, remedy: str) -> None:
    live = answers(*found)[0]
    assert (live.finding, words in live.cause, remedy in str(live.remedy)) == (cause, True, True), (
        live.cause,
        str(live.remedy),
    )
    text = str(live.remedy)
    assert "doctor" not in text
    assert "wait" not in text or "being deleted" in live.cause or "has room now" in live.cause
    own = saved(*found)[0]
    kinds = {one["kind"] for each in found for one in (each if isinstance(each, list) else [each])}
    if "DaemonSet" in kinds and "does not exist" not in live.cause:  # else the files show less
        assert (own.finding, own.cause, str(own.remedy)) == (live.finding, live.cause, str(live.remedy))


def test_evidence_about_holders_and_the_pod_itself() -> None:
    (cause,) = answers(waiting(preemptionPolicy="Never"), unhealthy(4, 2), held("a", 2, owner=("Job", "y")))
    assert cause.evidence[0] == "node gpu-1: 2 of 2 held by team-a/a (2); 2 of 4 are not healthy"
    assert "preemptionPolicy of the pod is Never" in cause.evidence[1]


# Whom the chain believes, by the rule of `doctor`.


def moved(namespace: str, objects: list[Object], created: str = "2020-01-01T00:00:00Z") -> list[Object]:
    """The same objects in another namespace, created at another time."""
    fields = {"namespace": namespace, "creationTimestamp": created}
    return [{**one, "metadata": {**one["metadata"], **fields}} for one in objects]


DEAD = dead("CrashLoopBackOff")
DECOY = moved("team-b", plugin(with_manager=False, **DEAD))
"""A DaemonSet of a tenant that looks like the device plugin, is older than the right one, and runs on the node."""


@pytest.mark.parametrize("namespace", ["kube-system", "nvidia-device-plugin", "gpu"])
def test_plugin_of_a_tenant_beside_that_of_an_administrator_changes_nothing(namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    privileged = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu", "labels": labels}}
    stack = moved(namespace, plugin(with_manager=False), "2026-01-01T00:00:00Z")
    found: list[Object | list[Object]] = [waiting(), a_node(labels=PRESENT, gpus=0), privileged, stack]
    (alone,), (beside,) = answers(*found), answers(*found, DECOY)
    assert "although its device plugin runs" in alone.cause
    assert (beside.cause, beside.evidence) == (alone.cause, alone.evidence)


def test_plugin_of_a_tenant_that_runs_on_no_node_with_gpus_does_not_count() -> None:
    decoy = moved("team-b", plugin(on=(), nodeSelector={"pool": "none"}))
    (cause,) = answers(waiting(), a_node(labels=PRESENT), a_node("cpu-1"), decoy)
    assert "the cluster has no device plugin" in cause.cause


def test_plugin_that_is_presumed_to_be_right_is_said_to_be() -> None:
    stack = moved("gpu", plugin(with_manager=False, **DEAD))
    later = moved("team-b", plugin(with_manager=False), "2026-02-02T00:00:00Z")
    (cause,) = answers(waiting(), a_node(labels=PRESENT, gpus=0), stack, later)
    assert "is not ready" in cause.cause
    assert "tenants may use namespace gpu, whose stack is presumed to be right" in cause.evidence
