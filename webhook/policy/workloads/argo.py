"""Argo Workflows and Argo Rollouts (argoproj/argo-workflows, argoproj/argo-rollouts)."""

from __future__ import annotations

from webhook.policy.pods.pod import INIT
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Part, PodPath

_GROUP, _VERSIONS = "argoproj.io", ("v1alpha1",)
_PARTS = (
    Part(("initContainers", EVERY), kind=INIT),
    Part(("container",)),
    Part(("script",)),
    Part(("containerSet", "containers", EVERY)),
    Part(("sidecars", EVERY)),
)


def _workflow(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a WorkflowSpec: each template runs as one pod, with the fields of the workflow below its own."""
    templates = (*spec, "templates", EVERY)
    return (PodPath(templates, Assembly(_PARTS, (spec, templates)), renders=True),)


WORKFLOWS = (
    Kind(_GROUP, "Workflow", _workflow("spec"), "workflows", _VERSIONS),
    Kind(_GROUP, "WorkflowTemplate", _workflow("spec"), "workflowtemplates", _VERSIONS),
    Kind(_GROUP, "ClusterWorkflowTemplate", _workflow("spec"), "clusterworkflowtemplates", _VERSIONS, namespaced=False),
    Kind(
        _GROUP,
        "CronWorkflow",
        _workflow("spec", "workflowSpec"),
        "cronworkflows",
        _VERSIONS,
        suspended=(("spec", "workflowSpec", "suspend"),),
    ),
)
ROLLOUTS = (Kind(_GROUP, "Rollout", (PodPath(("spec", "template")),), "rollouts", _VERSIONS, suspended=()),)
"""The kinds of the presets."""
