"""The kinds of presets that are published, and the places in them that no preset reads, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crds.typed import TYPED
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PathPattern
from webhook.policy.workloads.presets import PRESETS

_CONTROLLERS = "a controller makes it from a kind that is checked"
_ROUTER = "it routes requests and uses no GPU"
_CACHE = "its pods cache and use no GPU"
_CHILD = "each runs as a PipelineRun of its own, which is checked"

UNCHECKED_KINDS: Mapping[tuple[str, str], str] = {
    ("argoproj.io", "AnalysisRun"): _CONTROLLERS,
    ("argoproj.io", "WorkflowTaskSet"): _CONTROLLERS,
    ("orchestration.aibrix.ai", "KVCache"): _CACHE,
    ("orchestration.aibrix.ai", "PodSet"): _CONTROLLERS,
    ("orchestration.aibrix.ai", "RayClusterReplicaSet"): _CONTROLLERS,
    ("orchestration.aibrix.ai", "RoleSet"): _CONTROLLERS,
    ("serving.knative.dev", "Revision"): _CONTROLLERS,
    ("serving.kserve.io", "InferenceGraph"): _ROUTER,
}
"""Kinds that hold pods, by group and name."""

RETIRED_KINDS = {("tekton.dev", "ClusterTask")}
"""Kinds that older releases of a project serve, and the published ones do not."""

UNCHECKED_FIELDS: Mapping[tuple[str, PathPattern], str] = {
    ("argoproj.io", ("templateDefaults", "dag")): "a default for all templates cannot run templates",
    ("argoproj.io", ("templateDefaults", "steps")): "a default for all templates cannot run templates",
    ("orchestration.aibrix.ai", ("autoscalerOptions",)): "the resources of KubeRay's autoscaler, which uses no GPU",
    ("ray.io", ("autoscalerOptions",)): "the resources of KubeRay's autoscaler, a sidecar that uses no GPU",
    ("serving.kserve.io", ("router",)): _ROUTER,
    ("tekton.dev", ("finally", EVERY, "pipelineSpec")): _CHILD,
    ("tekton.dev", ("tasks", EVERY, "pipelineSpec")): _CHILD,
}
"""Fields whose content is not read, wherever a kind of the group has them."""

KINDS: Mapping[tuple[str, str], Kind] = {
    (kind.group, kind.kind): kind
    for preset in PRESETS
    for kind in preset.kinds
    if (kind.group, kind.kind) not in RETIRED_KINDS | TYPED.keys()
}
"""The kinds of presets that are published, by group and name."""
