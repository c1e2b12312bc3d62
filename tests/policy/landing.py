"""Where a pod could land: the product's placement, made from a plain pod."""

from __future__ import annotations

from typing import Any

from webhook.policy.checks import CHECKS
from webhook.policy.demand import Demand
from webhook.policy.facts import UNKNOWN, Node
from webhook.policy.node_index import NodeIndex
from webhook.policy.placement import Injected, Placement, Worlds
from webhook.policy.pod import Pod
from webhook.policy.rules import Ruleset
from webhook.policy.settings import PlacementSettings, Settings

Json = dict[str, Any]

WORLDS = Worlds(PlacementSettings().mps_labels)
"""The kinds of nodes as the plugin labels them."""


def placement(
    pod: Json, nodes: tuple[Node, ...] | None = None, groups: tuple[Node, ...] = (), worlds: Worlds = WORLDS
) -> Placement:
    """The placement of a pod among nodes, None where they are unknown."""
    view = Pod.of_template(pod)
    demand = Demand(view, Ruleset(Settings(), CHECKS, UNKNOWN).of("default").resource)
    index = NodeIndex((*(nodes or ()), *groups), worlds.is_mps)

    return Placement(view, demand, worlds, index, Injected((), index.taint_keys), nodes_known=nodes is not None)


def admitted(pod: Json, nodes: tuple[Node, ...]) -> list[Node]:
    """The nodes that admit a pod."""
    placed = placement(pod, nodes)
    return list(placed.index.nodes(placed.admitted))
