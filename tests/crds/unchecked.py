"""The kinds of presets that are published, and the places in them that no preset reads, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crds.typed import TYPED
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, PathPattern
from webhook.policy.workloads.presets import PRESETS

_CONTROLLERS = "a controller makes it from a kind that is checked"
_ROUTER = "it routes requests and uses no GPU"
_FEW = "few users give its pods a GPU; the search of unknown kinds finds its pods"
_OF_STEPS = "few users set GPUs there; the search for amounts that no path leads to finds them"
_CHILD = "each runs as a PipelineRun of its own, which is checked"

UNCHECKED_KINDS: Mapping[tuple[str, str], str] = {
    ("argoproj.io", "AnalysisRun"): _CONTROLLERS,
    ("argoproj.io", "AnalysisTemplate"): _FEW,
    ("argoproj.io", "ClusterAnalysisTemplate"): _FEW,
    ("argoproj.io", "Experiment"): _FEW,
    ("argoproj.io", "WorkflowTaskSet"): _CONTROLLERS,
    ("batch.volcano.sh", "CronJob"): _FEW,
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): _FEW,
    ("ray.io", "RayCronJob"): _FEW,
    ("serving.knative.dev", "Revision"): _CONTROLLERS,
    ("serving.kserve.io", "InferenceGraph"): _ROUTER,
    ("sparkoperator.k8s.io", "SparkConnect"): _FEW,
}
"""Kinds that hold pods, by group and name."""

UNCHECKED_FIELDS: Mapping[tuple[str, PathPattern], str] = {
    ("argoproj.io", ("templateDefaults", "dag")): "a default for all templates cannot run templates",
    ("argoproj.io", ("templateDefaults", "steps")): "a default for all templates cannot run templates",
    ("ray.io", ("autoscalerOptions",)): "the resources of KubeRay's autoscaler, a sidecar that uses no GPU",
    ("serving.kserve.io", ("router",)): _ROUTER,
    ("tekton.dev", ("finally", EVERY, "pipelineSpec")): _CHILD,
    ("tekton.dev", ("sidecarOverrides", EVERY)): _OF_STEPS,
    ("tekton.dev", ("sidecarSpecs", EVERY)): _OF_STEPS,
    ("tekton.dev", ("spec", "computeResources")): _OF_STEPS,
    ("tekton.dev", ("stepOverrides", EVERY)): _OF_STEPS,
    ("tekton.dev", ("stepSpecs", EVERY)): _OF_STEPS,
    ("tekton.dev", ("stepTemplate",)): _OF_STEPS,
    ("tekton.dev", ("taskRunSpecs", EVERY, "computeResources")): _OF_STEPS,
    ("tekton.dev", ("tasks", EVERY, "pipelineSpec")): _CHILD,
}
"""Fields whose content is not read, wherever a kind of the group has them."""

KINDS: Mapping[tuple[str, str], Kind] = {
    (kind.group, kind.kind): kind for preset in PRESETS for kind in preset.kinds if (kind.group, kind.kind) not in TYPED
}
"""The kinds of presets that are published, by group and name."""
