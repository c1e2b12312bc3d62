"""The places of published definitions that no preset reads, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.policy.workloads.paths import EVERY, PathPattern

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
