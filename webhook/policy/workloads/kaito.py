"""KAITO, which runs models on nodes that it creates."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import PodPath, always, unknown

_GROUP, _VERSIONS = "kaito.sh", ("v1beta1", "v1alpha1")


def _kind(kind: str, *above: str) -> Kind:
    paths = (PodPath((*above, "inference", "template"), count=unknown),)
    return Kind(_GROUP, kind, paths, _VERSIONS, suspended=(), has_open_nodes=always)


KINDS = (_kind("Workspace"), _kind("InferenceSet", "spec", "template"))
"""KAITO (kaito-project/kaito at 056b828, `api/v1beta1`; the module proxy does not serve the module).

The definitions leave the template open. Its nodes are those of the instance type, or of a selector. Without a template,
KAITO asks for the GPUs that these nodes have.
"""
