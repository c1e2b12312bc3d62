"""A cluster in memory: objects as the API server returns them, and the answer to a question about one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from tests.diagnose.both import StandIn, cluster_of
from tests.diagnose.cluster_objects import GPU, Object, container, pod
from tests.diagnose.why.remedies import helps
from webhook.cluster.objects import Kind, LiveObjects, Objects
from webhook.diagnose.saved import SavedObjects
from webhook.diagnose.why.case import Why
from webhook.diagnose.why.decide import why
from webhook.diagnose.why.gather import KINDS, Question
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

SCHEDULED = [{"type": "PodScheduled", "status": "True"}]
NAMESPACE = "team-a"


class Recorded(SavedObjects):
    """All objects of a cluster. `logs` by container; `asked` are the kinds that were read."""

    def __init__(self, *found: Object, logs: dict[str, str] | None = None) -> None:
        super().__init__(found)
        self._found = found
        self.logs = logs or {}
        self.asked_logs: list[tuple[str, bool]] = []

    def live(self) -> LiveObjects:
        """The same objects as an API server returns them."""
        cluster = cluster_of(self._found)
        for path in list(cluster.objects) if self.logs else ():
            cluster.texts[f"{path}/log"] = "".join(self.logs.values())
        return LiveObjects(StandIn(cluster))

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> str | None:  # noqa: ARG002
        self.asked_logs.append((container, previous))
        return self.logs.get(container)

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002
        return False

    def has_all(self, kind: Kind) -> bool:  # noqa: ARG002
        return True

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:  # noqa: ARG002
        return False


def ask(
    objects: Recorded,
    kind: str = "Pod",
    name: str = "main",
    nodes: Collection[Node] = (),
    settings: Settings | None = None,
    **asked: Any,
) -> Why:
    """The answer about an object, which is the same of a live cluster."""

    async def more(_parts: Collection[str]) -> Facts:
        return Facts(nodes=tuple(nodes), device_classes=())

    async def answered(objects: Objects) -> Why:
        found = await objects.one(KINDS[kind], NAMESPACE, name)
        assert found is not None
        case = await Question(objects, settings or Settings(), more, **asked).case(kind, NAMESPACE, found)
        return helps(case, why(case))

    answer = asyncio.run(answered(objects))
    assert asyncio.run(answered(objects.live())).as_data() == answer.as_data()
    return answer


def causes(
    *found: Object, kind: str = "Pod", nodes: Collection[Node] = (), logs: dict[str, str] | None = None
) -> list[str]:
    """The causes for the object `main`, in order."""
    return [
        one.finding for one in ask(Recorded(*found, logs=logs), kind, nodes=nodes, wants_log=logs is not None).causes
    ]


def event(reason: str, message: str, of: str = "main", kind: str = "Pod", **fields: Any) -> Object:
    """An event about an object."""
    about = {"kind": kind, "name": of, "namespace": NAMESPACE, **({"uid": f"uid-{of}"} if kind == "Pod" else {})}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{of}.{reason}", "namespace": NAMESPACE},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        **fields,
    }


def unscheduled(message: str, *containers: Object, **spec: Any) -> Object:
    """The pod `main`, for which the scheduler finds no node."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return pod("main", *containers, spec=spec, status={"conditions": [condition]})


def state(name: str = "main", **fields: Any) -> Object:
    """The status of a container, which runs unless `state` says otherwise."""
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return {"name": name, "ready": True, "restartCount": 0, "state": running, **fields}


def bound(
    *containers: Object, states: Collection[Object] | None = None, phase: str = "Running", **fields: Any
) -> Object:
    """The pod `main` on the node mps-1, with the states of its containers."""
    is_ready = {"type": "Ready", "status": str(phase == "Running" and states is None)}
    status = {
        "phase": phase,
        "containerStatuses": list(states if states is not None else [state()]),
        "conditions": [*SCHEDULED, is_ready],
        **fields.pop("status", {}),
    }
    return pod("main", *containers, node="mps-1", status=status, spec=fields.pop("spec", {}), **fields)


def node(name: str = "mps-1", *, strategy: str = "mps", ready: str = "True", amount: int = 4) -> Object:
    """A node with GPUs."""
    labels = {"nvidia.com/gpu.sharing-strategy": strategy, "nvidia.com/mps.capable": str(strategy == "mps").lower()}
    amounts = {"cpu": "8", GPU: str(amount)}
    ready_now = {"type": "Ready", "status": ready, "message": "Kubelet stopped posting node status."}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready_now]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def daemon(*, ready: bool = True, at: str = "mps-1") -> Object:
    """The pod of the MPS control daemon on a node."""
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    clients = container("mps-control-daemon-ctr", 0)
    return pod("mps-daemon", clients, namespace="gpu", node=at, status=status, owner=("DaemonSet", "mps-daemon"))
