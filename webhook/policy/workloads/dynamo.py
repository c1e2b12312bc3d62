"""NVIDIA Dynamo and Grove, on which it runs."""

from __future__ import annotations

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PodPath, at, stated, unknown

_GROUP = "nvidia.com"


def _nodes(manifest: Members, path: Path) -> int | None:
    """The pods of a component: `multinode.nodeCount`, 1 without `multinode`."""
    several = at(manifest, (*path[:-1], "multinode"))
    return 1 if several is None else stated(at(several, ("nodeCount",)), 2)


def _component(*steps: str) -> PodPath:
    return PodPath(
        (*steps, "podTemplate"),
        group="component",
        apart=steps,
        count=_nodes,
    )


DYNAMO = (
    Kind(_GROUP, "DynamoGraphDeployment", (_component("spec", "components", EVERY),), ("v1beta1",), suspended=()),
    Kind(_GROUP, "DynamoComponentDeployment", (_component("spec"),), ("v1beta1",), suspended=(), labels=None),
)
"""Dynamo (ai-dynamo/dynamo at 006b6e1, `deploy/operator/api/v1beta1`; the module proxy does not serve the module).

The API server converts objects of v1alpha1, whose form is another one, before it calls a webhook with v1beta1.
"""


GROVE = (
    Kind(
        "grove.io",
        "PodCliqueSet",
        (PodPath(("spec", "template", "cliques", EVERY, "spec", "podSpec"), "podSpec", group="set", count=unknown),),
        ("v1alpha1",),
        suspended=(),
    ),
)
"""Grove (ai-dynamo/grove at fcc3b3b, `operator/api/core/v1alpha1`; the module proxy does not serve the module).

`podCliqueScalingGroups` says which cliques work together, and its replicas multiply theirs: the count is left unknown.
"""
