"""NVIDIA Dynamo and Grove, on which it runs."""

from __future__ import annotations

from webhook.policy.pods.pod import INIT
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import (
    EVERY,
    MEMBER,
    Assembly,
    Containers,
    PodPath,
    at,
    stated,
    unknown,
)

_GROUP = "nvidia.com"


def _nodes(manifest: Members, path: Path) -> int | None:
    """The pods of a component: `multinode.nodeCount`, 1 without `multinode`."""
    return _nodes_of_service(manifest, path[:-1])


def _nodes_of_service(manifest: Members, path: Path) -> int | None:
    """The pods of a service: `multinode.nodeCount`, 1 without `multinode`."""
    several = at(manifest, (*path, "multinode"))
    return 1 if several is None else stated(at(several, ("nodeCount",)), 2)


def _component(*steps: str) -> PodPath:
    return PodPath(
        (*steps, "podTemplate"),
        group="component",
        apart=steps,
        count=_nodes,
    )


_SERVICES = ("spec", "services", MEMBER)
_EXTRA = "extraPodSpec"
_OF_SERVICE = (
    Containers((_EXTRA, "initContainers", EVERY), kind=INIT),
    Containers((), "dynamo", name="main"),
    Containers((_EXTRA, "containers", EVERY)),
)
_SERVICE = PodPath(
    _SERVICES,
    Assembly(_OF_SERVICE, ((*_SERVICES, _EXTRA),)),
    group="service",
    apart=_SERVICES,
    count=_nodes_of_service,
)
"""A service of v1alpha1. Source: ai-dynamo/dynamo at 0d531a9, `deploy/operator/api/v1alpha1`."""

_GRAPH = (_component("spec", "components", EVERY), _SERVICE)

DYNAMO = (
    Kind(_GROUP, "DynamoGraphDeployment", _GRAPH, ("v1beta1", "v1alpha1"), suspended=()),
    Kind(_GROUP, "DynamoComponentDeployment", (_component("spec"),), ("v1beta1",), suspended=(), labels=None),
)
"""Dynamo (ai-dynamo/dynamo at 006b6e1, `deploy/operator/api/v1beta1`; the module proxy does not serve the module).

An operator makes the DynamoComponentDeployments of v1alpha1 from a graph, whose services are checked; their own form is
not read.
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
