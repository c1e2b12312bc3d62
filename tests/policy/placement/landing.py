"""Where a pod could land: the product's placement, made from a plain pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import NodeClasses
from webhook.policy.placement.node_index import indexing
from webhook.policy.placement.reachability import ClusterNodes, Placement
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import PlacementSettings, Settings
from webhook.policy.steps import finished

Json = dict[str, Any]

NODE_CLASSES = NodeClasses(Settings())
"""The kinds of nodes as the plugin labels them."""


def labelled_classes(mps: Mapping[str, str], time_slicing: Mapping[str, str]) -> NodeClasses:
    """The kinds of nodes with these labels."""
    return NodeClasses(Settings(placement=PlacementSettings(mps, time_slicing)))


def placement(
    pod: Json,
    nodes: tuple[Node, ...] | None = None,
    groups: tuple[Node, ...] = (),
    node_classes: NodeClasses = NODE_CLASSES,
) -> Placement:
    """The placement of a pod among nodes, None where they are unknown."""
    view = Pod.of_template(pod)
    requests = GpuRequests(view, OfflineEvaluator.of(Settings()).snapshot.of("default").resource)
    index = finished(indexing(nodes or (), node_classes, groups))
    return Placement(view, requests, ClusterNodes(Settings(), Facts(nodes), node_classes, index), (), {})


def admitted(pod: Json, nodes: tuple[Node, ...]) -> list[Node]:
    """The nodes that admit a pod."""
    placed = placement(pod, nodes)
    lasting, _, passing = placed.kept_off
    return list(placed.cluster.index.nodes(placed.selected & ~(lasting | passing)))
