"""Pods that select nodes, and small clusters for them to land on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.node_classes import CAPABLE, PRODUCT, REPLICAS, STRATEGY
from webhook.policy.settings.settings import Resource

Json = dict[str, Any]

GPU = Resource("nvidia.com/gpu")
SHARED = Resource("nvidia.com/gpu.shared", renamed=True)
POOL = "pool"
NUMBERS = [str(number) for number in range(-1, 6)]
"""Among them one below and one above all that pods here compare with."""

NAMED = {
    STRATEGY: ["mps", "none", "time-slicing"],
    CAPABLE: ["true", "false"],
    REPLICAS: ["0", "1", "2", "3"],
    PRODUCT: ["T4", "T4-SHARED"],
    POOL: ["a", "b", "1", "2", "3"],
}


@st.composite
def expressions(draw: st.DrawFn, keys: list[str]) -> Json:
    key = draw(st.sampled_from(keys))
    operator = draw(st.sampled_from(["In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    match operator:
        case "Exists" | "DoesNotExist":
            return {"key": key, "operator": operator}
        case "Gt" | "Lt":
            return {"key": key, "operator": operator, "values": [draw(st.sampled_from(NUMBERS[2:6]))]}
    some = st.lists(st.sampled_from(NAMED[key]), min_size=1, max_size=2, unique=True)
    return {"key": key, "operator": operator, "values": draw(some)}


by_name = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from(["n0", "n1", "n2"]),
)


@st.composite
def selecting_pods(draw: st.DrawFn, *, names: bool = False) -> Json:
    """A pod that asks for a GPU and selects nodes; by their names too where asked for."""
    spec: Json = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": draw(st.integers(1, 3))}}}]}
    keys = draw(st.lists(st.sampled_from(sorted(NAMED)), min_size=1, max_size=3, unique=True))
    selected = draw(st.lists(st.sampled_from(keys), max_size=2, unique=True))
    spec["nodeSelector"] = {key: draw(st.sampled_from(NAMED[key])) for key in selected}
    term = {"matchExpressions": st.lists(expressions(keys), max_size=3)}
    if names:
        term["matchFields"] = st.lists(by_name, max_size=1)
        spec["nodeName"] = draw(st.sampled_from([None, None, None, "", "n0", "n1"]))
    terms = draw(st.none() | st.lists(st.fixed_dictionaries({}, optional=term), min_size=1, max_size=3))
    if terms is not None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    return {"spec": spec}


def selecting(*expressions: Json) -> Json:
    """A pod with these expressions in one term of its required affinity."""
    required = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"spec": {"containers": [], "affinity": affinity}}


taints = st.builds(
    Taint,
    st.sampled_from(["gpu", "dedicated", "node.kubernetes.io/unschedulable"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    st.sampled_from(["", "x"]),
)
several_taints = st.lists(taints, max_size=3, unique_by=lambda taint: (taint.key, taint.effect))
"""As the API server accepts them on one node."""
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from(["gpu", "dedicated", "node.kubernetes.io/unschedulable"]),
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
    },
)


@st.composite
def nearly_placed_pods(draw: st.DrawFn) -> Json:
    """A pod with tolerations that selects nodes; often only by the node selector, or not at all."""
    pod = draw(selecting_pods(names=True))
    for field in draw(st.sampled_from([[], [], ["affinity"], ["affinity", "nodeName"]])):
        pod["spec"].pop(field, None)
    if draw(st.booleans()):
        pod["spec"]["nodeSelector"] = {}
    pod["spec"]["tolerations"] = draw(st.lists(tolerations, max_size=2))
    return pod


LABELLED: list[dict[str, str]] = [
    {STRATEGY: "mps", CAPABLE: "true", REPLICAS: "2", PRODUCT: "T4-SHARED"},
    {CAPABLE: "true"},
    {STRATEGY: "mps"},
    {STRATEGY: "time-slicing", CAPABLE: "false", REPLICAS: "2", PRODUCT: "T4-SHARED"},
    {STRATEGY: "none", CAPABLE: "false", REPLICAS: "1", PRODUCT: "T4"},
    {},
]
"""Nodes as GPU feature discovery labels them, labelled by hand with one label, and without labels."""


@st.composite
def clusters(draw: st.DrawFn, prefix: str = "n") -> tuple[Node, ...]:
    found = []
    for index in range(draw(st.integers(0, 3))):
        labels = draw(st.sampled_from(LABELLED)) | draw(st.sampled_from([{}, {POOL: "a"}, {POOL: "1"}]))
        offered = {GPU.name: draw(st.integers(0, 3))} if draw(st.booleans()) else {}
        found.append(Node(f"{prefix}{index}", labels, tuple(draw(st.lists(taints, max_size=1))), offered))
    return tuple(found)


@st.composite
def offering_clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    """Nodes that list the GPU, some with an amount of 0, with several taints and states that pass."""
    found = []
    for index in range(draw(st.integers(1, 4))):
        labels = draw(st.sampled_from(LABELLED)) | draw(st.sampled_from([{}, {POOL: "a"}, {POOL: "1"}]))
        held = draw(several_taints)
        offered = {GPU.name: draw(st.integers(0, 4))} | draw(st.sampled_from([{}, {}, {"nvidia.com/mig-1g.5gb": 1}]))
        found.append(Node(f"n{index}", labels, tuple(held), offered))
    return tuple(found)
