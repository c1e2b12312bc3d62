"""A cluster with NVIDIA's stack as its chart installs it, in memory: nodes, DaemonSets with their pods, and pods."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import yaml
from msgspec import Raw, json

from tests.diagnose.cluster_objects import GPU, Object, pod
from tests.diagnose.why.recorded import NAMESPACE, Recorded
from tests.diagnose.why.remedies import helps
from webhook.cluster.classes import runtime_class
from webhook.cluster.nodes import parser
from webhook.cluster.objects import NODE, RUNTIME_CLASS, Objects
from webhook.diagnose.finding import Finding
from webhook.diagnose.saved import SavedObjects
from webhook.diagnose.why.decide import why
from webhook.diagnose.why.gather import KINDS, Question
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS
from webhook.policy.settings.settings import Settings

STACK = "nvidia-device-plugin"
PRESENT = {"nvidia.com/gpu.present": "true"}
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"


def a_node(name: Any = "gpu-1", labels: Any = None, taints: Any = (), **amounts: Any) -> Object:
    """A node. `amounts` holds its extended resources, with GPUs for `gpus`; `image` is its system."""
    image = amounts.pop("image", "Ubuntu 24.04")
    offered = {GPU if key == "gpus" else key: str(units) for key, units in amounts.items()}
    units = {"cpu": "16", **offered}
    status = {"allocatable": units, "capacity": units, "nodeInfo": {"osImage": image}}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"taints": list(taints)},
        "status": status,
    }


def sharing(how: str = "timeSlicing", replicas: int = 4, **fields: Any) -> str:
    """The text of a configuration."""
    return yaml.safe_dump(
        {"version": "v1", "sharing": {how: {"resources": [{"name": GPU, "replicas": replicas}], **fields}}}
    )


def config_map(name: str = "configs", **texts: str) -> Object:
    """A ConfigMap in the namespace of the stack."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": STACK}, "data": texts}


def daemon_set(
    name: str, *containers: Object, on: Collection[str] = (), ready: bool = True, **spec: Any
) -> list[Object]:
    """A DaemonSet of the stack, and its pods on nodes; `detail` is the state of their first container."""
    detail = spec.pop("detail", {"running": {}})
    inits = spec.pop("init", [])
    template = {"spec": {"containers": list(containers), **spec}}
    metadata = {"name": name, "namespace": STACK, "creationTimestamp": "2026-01-01T00:00:00Z"}
    status = {"desiredNumberScheduled": len(on), "numberReady": len(on) if ready else 0}
    made: list[Object] = [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": metadata,
            "spec": {"template": template},
            "status": status,
        }
    ]
    states = [{"name": containers[0]["name"], "ready": ready, "restartCount": 0, "state": detail}]
    of_pod = {
        "phase": "Running" if ready else "Pending",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": states,
        "initContainerStatuses": inits,
    }
    for node in on:
        own = pod(f"{name}-{node}", *containers, namespace=STACK, node=node, owner=("DaemonSet", name), status=of_pod)
        own["spec"]["volumes"] = [{"name": "p", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}]
        made.append(own)
    return made


def manager(**variables: str) -> Object:
    """The config-manager of the chart."""
    env = [{"name": key, "value": value} for key, value in {"DEFAULT_CONFIG": "default", **variables}.items()]
    mounts = [{"name": "configs", "mountPath": "/available-configs"}]
    return {
        "name": "nvidia-device-plugin-sidecar",
        "image": IMAGE,
        "command": ["config-manager"],
        "env": env,
        "volumeMounts": mounts,
    }


CONFIGS = [{"name": "configs", "configMap": {"name": "configs"}}]


def plugin(*more: Object, on: Collection[str] = ("gpu-1",), with_manager: bool = True, **fields: Any) -> list[Object]:
    """The device plugin; of the chart with its config-manager, or alone as in a manifest."""
    own = {"name": "nvidia-device-plugin-ctr", "image": IMAGE, **fields.pop("container", {})}
    volumes = fields.pop("volumes", CONFIGS if with_manager else [])
    return daemon_set("plugin", own, *([manager()] if with_manager else []), *more, on=on, volumes=volumes, **fields)


def daemon(on: Collection[str] = ("gpu-1",), **fields: Any) -> list[Object]:
    """The MPS control daemon."""
    selector = fields.pop("nodeSelector", {"nvidia.com/mps.capable": "true"})
    return daemon_set("mps", {"name": "mps-control-daemon-ctr", "image": IMAGE}, on=on, nodeSelector=selector, **fields)


def discovery(on: Collection[str] = ("gpu-1",), **fields: Any) -> list[Object]:
    """GPU feature discovery."""
    return daemon_set("gfd", {"name": "gpu-feature-discovery-ctr", "image": IMAGE}, on=on, **fields)


def waiting(*said: str, asks: Object | None = None, owner: tuple[str, str] | None = None, **spec: Any) -> Object:
    """The pod `main`, for which the scheduler finds no node. `asks` are its limits."""
    text = (
        f"0/9 nodes are available: {', '.join(said) or f'9 Insufficient {GPU}'}. preemption: 0/9 nodes are available."
    )
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}]
    main = {"name": "main", "image": "registry.example/train:1", "resources": {"limits": asks or {GPU: 1}}}
    fields: Object = {} if owner is None else {"owner": owner}
    return pod("main", main, spec=spec, status={"conditions": conditions}, **fields)


def answers(*found: Object | list[Object], kind: str = "Pod", logs: dict[str, str] | None = None) -> list[Finding]:
    """The causes for the object `main` in a cluster of these objects."""
    objects = [each for one in found for each in (one if isinstance(one, list) else [one])]
    recorded, wants_log = Recorded(*objects, logs=logs), logs is not None
    causes = _causes(recorded, recorded, kind, wants_log=wants_log)
    live = _causes(recorded.live(), recorded, kind, wants_log=wants_log)
    assert [one.as_data() for one in live] == [one.as_data() for one in causes]
    return causes


def saved(*found: Object | list[Object], kind: str = "Pod") -> list[Finding]:
    """The causes from the same objects in files."""
    objects = SavedObjects([each for one in found for each in (one if isinstance(one, list) else [one])])
    return _causes(objects, objects, kind)


def _causes(objects: Objects, known: SavedObjects, kind: str, *, wants_log: bool = False) -> list[Finding]:
    """The causes. The facts are those of `known`."""
    parse = parser(ALWAYS._replace(resources=frozenset({GPU})), others=True)
    nodes = [parse(Raw(json.encode(one)))[1] for one in known.of(NODE)]

    classes = tuple(runtime_class(Raw(json.encode(one)))[1] for one in known.of(RUNTIME_CLASS))

    async def more(_parts: Collection[str]) -> Facts:
        read = tuple(one for one in nodes if one is not None)
        return Facts(nodes=read, device_classes=(), namespaces=(), runtime_classes=classes)

    async def answered() -> list[Finding]:
        found = await objects.one(KINDS[kind], NAMESPACE, "main")
        assert found is not None
        question = Question(objects, Settings(), more, wants_log=wants_log)
        case = await question.case(kind, NAMESPACE, found)
        return list(helps(case, why(case)).causes)

    return asyncio.run(answered())
