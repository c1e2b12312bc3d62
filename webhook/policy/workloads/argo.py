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
    """The paths of a WorkflowSpec: each template runs as one pod, with the fields of the workflow below its own.

    The default template is merged into each. A task of a DAG and a step can have a template inline.
    """
    templates = (*spec, "templates", EVERY)
    places = (
        (*spec, "templateDefaults"),
        templates,
        (*templates, "dag", "tasks", EVERY, "inline"),
        (*templates, "steps", EVERY, EVERY, "inline"),
    )
    return tuple(PodPath(place, Assembly(_PARTS, (spec, place)), renders=True) for place in places)


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
_ANALYSIS = (PodPath(("spec", "metrics", EVERY, "provider", "job", "spec", "template"), renders=True),)

ROLLOUTS = (
    Kind(_GROUP, "Rollout", (PodPath(("spec", "template")),), "rollouts", _VERSIONS, suspended=()),
    Kind(
        _GROUP,
        "Experiment",
        (PodPath(("spec", "templates", EVERY, "template")),),
        "experiments",
        _VERSIONS,
        suspended=(),
    ),
    Kind(_GROUP, "AnalysisTemplate", _ANALYSIS, "analysistemplates", _VERSIONS, suspended=()),
    Kind(
        _GROUP,
        "ClusterAnalysisTemplate",
        _ANALYSIS,
        "clusteranalysistemplates",
        _VERSIONS,
        namespaced=False,
        suspended=(),
    ),
)
"""The kinds of the presets."""
