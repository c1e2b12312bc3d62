"""Clusters whose nodes offer GPUs in different ways, and pods for them, generated from a seed.

`refuses` is the device plugin's own rule (NVIDIA/k8s-device-plugin `internal/rm` and `cmd/nvidia-device-plugin`),
written from its documentation and without the product's code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.manifests import CAPABLE, CONFIG, GPU, SHARED, STRATEGY, container, pod

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from tests.cluster.harness.api import Object
    from webhook.policy.placement.cluster_objects import Strategy

MIG = "nvidia.com/mig-1g.5gb"
REPLICAS = "nvidia.com/gpu.replicas"
PRODUCT = "nvidia.com/gpu.product"
POOL, RANK = "pool", "rank"
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""The taint that the node controller puts on a cordoned node."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way in which nodes share their cards.

    `config` is the device plugin's configuration that the node's label names, None without the label.
    `discovered`: GPU feature discovery labels the node; otherwise it has only the labels of `by_hand`.
    `fails`: the option `failRequestsGreaterThanOne`, None where it is unset.
    """

    name: str
    strategy: Strategy = "none"
    resource: str = GPU
    config: str | None = None
    discovered: bool = True
    by_hand: Mapping[str, str] = field(default_factory=dict)
    fails: bool | None = None

    def labels(self, replicas: int) -> dict[str, str]:
        """The labels of a node of this kind."""
        labels = dict(self.by_hand)
        if self.config is not None:
            labels[CONFIG] = self.config
        if self.discovered:
            is_suffixed = self.strategy != "none" and self.resource == GPU
            labels[STRATEGY] = self.strategy
            labels[CAPABLE] = str(self.strategy == "mps").lower()
            labels[REPLICAS] = "0" if self.resource == MIG else str(replicas)
            labels[PRODUCT] = "Tesla-T4" + "-SHARED" * is_suffixed
        return labels

    def refuses(self, amounts: Mapping[str, int], version: str) -> bool:
        """Whether the node's device plugin refuses a container that asks for these amounts."""
        if self.strategy == "none" or amounts.get(self.resource, 0) <= 1:
            return False
        if self.strategy == "time-slicing":
            return self.fails is True
        # MPS honours the option from v0.20 (NVIDIA/k8s-device-plugin#1762).
        return self.fails is not False or version != "0.20.0"


DEFAULT = "whole"
"""The configuration of nodes without the label."""

_BLOCKS = {"mps": "mps", "time-slicing": "timeSlicing"}

KINDS = (
    Kind("mps", "mps", config="mps"),
    Kind("mps-lenient", "mps", config="mps-lenient", fails=False),
    Kind("mps-renamed", "mps", SHARED, config="mps-renamed"),
    Kind("mps-undiscovered", "mps", config="mps", discovered=False),
    Kind("mps-by-hand", "mps", discovered=False, by_hand={CAPABLE: "true"}),
    Kind("time-slicing", "time-slicing", config="time-slicing"),
    Kind("time-slicing-strict", "time-slicing", config="time-slicing-strict", fails=True),
    Kind("time-slicing-renamed", "time-slicing", SHARED, config="time-slicing-renamed", fails=True),
    Kind("whole", config=DEFAULT),
    Kind("whole-default"),
    Kind("whole-undiscovered", discovered=False),
    Kind("mig", resource=MIG, config=DEFAULT),
)


def plugin_configs() -> dict[str, str]:
    """The device plugin's configurations in all generated clusters, as its ConfigMap holds them."""
    shared = {kind.config: _sharing(kind) for kind in KINDS if kind.config is not None and kind.strategy != "none"}
    return {DEFAULT: json.dumps({"version": "v1"})} | shared


def _sharing(kind: Kind) -> str:
    option = {} if kind.fails is None else {"failRequestsGreaterThanOne": kind.fails}
    resources = [{"name": GPU, "replicas": 4}]
    sharing = {"renameByDefault": kind.resource == SHARED, "resources": resources, **option}
    return json.dumps({"version": "v1", "sharing": {_BLOCKS[kind.strategy]: sharing}})


@dataclass(frozen=True, slots=True)
class MixedNode:
    """A node of a kind. `resources`: the units that its cards make. `restarting`: its device plugin is not running."""

    name: str
    kind: Kind
    labels: Mapping[str, str]
    taints: tuple[Object, ...]
    resources: Mapping[str, int]
    cordoned: bool = False
    restarting: bool = False

    @property
    def offered(self) -> Mapping[str, int]:
        """The units that the node offers now. The kubelet reports 0 while the device plugin is not running."""
        return dict.fromkeys(self.resources, 0) if self.restarting else self.resources


@dataclass(frozen=True, slots=True)
class MixedCluster:
    """The nodes of a cluster, and the version of its device plugin."""

    version: str
    nodes: tuple[MixedNode, ...]


_TAINTS: tuple[Object, ...] = (
    {"key": GPU, "value": "present", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "team-a", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "team-b", "effect": "NoExecute"},
    {"key": "preferred", "effect": "PreferNoSchedule"},
)
_TOLERATIONS: tuple[Object, ...] = (
    {"operator": "Exists"},
    {"key": "dedicated", "operator": "Exists"},
    {"key": "dedicated", "value": "team-a", "effect": "NoSchedule"},
    {"key": "dedicated", "operator": "Equal", "value": "team-b"},
    {"key": "dedicated", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
    {"key": GPU, "operator": "Equal", "value": "absent", "effect": "NoSchedule"},
)
_VALUES = {
    STRATEGY: ("mps", "time-slicing", "none"),
    CAPABLE: ("true", "false"),
    REPLICAS: ("1", "2", "4", "0"),
    PRODUCT: ("Tesla-T4", "Tesla-T4-SHARED"),
    CONFIG: ("mps", "mps-lenient", "mps-renamed", "whole", "time-slicing"),
    POOL: ("a", "b"),
    RANK: ("1", "2", "3"),
    "unknown": ("x",),
}


def mixed_cluster(random: Random) -> MixedCluster:
    """A cluster with a node of most kinds, in which amounts, taints and further labels vary."""
    kinds = random.sample(KINDS, k=random.randint(8, len(KINDS))) + random.choices(KINDS, k=3)
    nodes = tuple(_node(random, f"gpu-{index}", kind) for index, kind in enumerate(kinds))
    without_gpu = MixedNode("cpu", Kind("cpu", discovered=False), {POOL: "a", RANK: "1"}, (), {})
    return MixedCluster(random.choice(("0.19.3", "0.20.0")), (*nodes, without_gpu))


def _node(random: Random, name: str, kind: Kind) -> MixedNode:
    is_shared = kind.strategy != "none"
    cards, replicas = random.choice((1, 2, 4, 8)), random.choice((2, 4)) if is_shared else 1
    labels = kind.labels(replicas)
    if random.random() < 0.7:
        labels |= {POOL: random.choice(_VALUES[POOL]), RANK: random.choice(_VALUES[RANK])}
    taints = tuple(random.sample(_TAINTS, k=random.choice((0, 0, 1, 1, 2))))
    resources = {kind.resource: cards * replicas}
    if kind.resource == MIG:
        resources[GPU] = random.choice((0, 1, 2))  # the strategy `mixed`: cards without MIG stay whole
    state = random.choices(("ready", "cordoned", "restarting"), (14, 1, 1))[0]
    return MixedNode(
        name, kind, labels, taints, resources, cordoned=state == "cordoned", restarting=state == "restarting"
    )


def mixed_pod(random: Random, name: str, cluster: MixedCluster) -> Object:
    """A pod that asks for GPUs and selects nodes in one of many ways; most fit one node of the cluster at least."""
    aim = random.choice([node for node in cluster.nodes if node.resources])
    containers = [_container(random, f"c{index}", aim) for index in range(random.choice((1, 1, 1, 1, 2)))]
    spec: dict[str, Any] = {}
    if random.random() < 0.1:
        spec["initContainers"] = [_container(random, "init", aim)]
    selects = random.choices(("nowhere", "selector", "affinity", "both"), (1, 5, 5, 4))[0]
    if selects in ("selector", "both"):
        keys = set(random.choices(_keys(aim), k=random.choice((1, 2, 3))))
        spec["nodeSelector"] = {key: _value(random, key, aim) for key in sorted(keys)}
    if selects in ("affinity", "both"):
        terms = [_term(random, aim) for _ in range(random.choice((1, 1, 1, 2)))]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    tolerations = [toleration for toleration in _fitting(aim) if random.random() >= _ASTRAY]
    if random.random() < 0.3:
        tolerations.append(random.choice(_TOLERATIONS))
    if tolerations:
        spec["tolerations"] = tolerations
    return pod(name, *containers, **spec)


_AMOUNTS = (1, 1, 1, 2, 2, 3, 4, 8)
_ASTRAY = 0.08
"""How often a part of a pod does not fit the node that the pod is aimed at."""


def _fitting(aim: MixedNode) -> list[Object]:
    """Tolerations for the node's taints. The webhook adds those for `nvidia.com/gpu`."""
    taints = [*aim.taints, CORDONED] if aim.cordoned else aim.taints
    return [{"key": taint["key"], "operator": "Exists"} for taint in taints if taint["key"] != GPU]


def _keys(aim: MixedNode) -> list[str]:
    """Labels to select the node by, mostly those that say how it shares its cards."""
    return [*sorted(aim.labels), *(key for key in (STRATEGY, CONFIG, CAPABLE) if key in aim.labels)] or [POOL]


def _value(random: Random, key: str, aim: MixedNode) -> str:
    return random.choice(_VALUES[key]) if key not in aim.labels or random.random() < _ASTRAY else aim.labels[key]


def _container(random: Random, name: str, aim: MixedNode) -> Object:
    resource = random.choice((GPU, GPU, SHARED, MIG)) if random.random() < _ASTRAY else aim.kind.resource
    most = aim.resources.get(resource, 1)
    fitting = [amount for amount in _AMOUNTS if amount <= most or random.random() < _ASTRAY]
    return container(name, gpus=random.choice(fitting or [1]), resource=resource)


def _term(random: Random, aim: MixedNode) -> Object:
    term: Object = {"matchExpressions": [_expression(random, aim) for _ in range(random.choice((1, 2, 3, 3)))]}
    if random.random() < 0.1:
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [aim.name]}]
    elif random.random() < 0.1:
        term["matchFields"] = [{"key": "metadata.name", "operator": "NotIn", "values": ["gpu-0"]}]
    return term


def _expression(random: Random, aim: MixedNode) -> Object:
    """An expression on a label; most match the node."""
    key = random.choice([*_keys(aim), *_keys(aim), *_VALUES])
    is_present = (key in aim.labels) != (random.random() < _ASTRAY)
    number = aim.labels.get(key, "")
    if number.isdecimal() and random.random() < 0.3:
        operator, other = random.choice((("Gt", max(int(number) - 1, 0)), ("Lt", int(number) + 1)))
        return {"key": key, "operator": operator, "values": [str(other)]}
    if random.random() < 0.15:
        return {"key": key, "operator": "Exists" if is_present else "DoesNotExist"}
    others = [value for value in _VALUES[key] if value != aim.labels.get(key)]
    if is_present and random.random() < 0.75:
        values = {_value(random, key, aim), *random.sample(others, k=random.randint(0, min(1, len(others))))}
        return {"key": key, "operator": "In", "values": sorted(values)}
    return {"key": key, "operator": "NotIn", "values": random.sample(others, k=random.randint(1, len(others)))}


def amounts(asks: Object) -> list[dict[str, int]]:
    """The amounts that each container of a pod asks for."""
    return [
        {name: int(amount) for name, amount in one["resources"]["limits"].items()}
        for one in (*asks["spec"].get("initContainers", ()), *asks["spec"]["containers"])
    ]


def demand(asks: Object) -> dict[str, int]:
    """What the scheduler reserves for a pod: its containers run together, each init container alone before them."""
    inits = len(asks["spec"].get("initContainers", ()))
    each = amounts(asks)
    names = {name for one in each for name in one}
    return {
        name: max([sum(one.get(name, 0) for one in each[inits:]), *(one.get(name, 0) for one in each[:inits])])
        for name in names
    }
