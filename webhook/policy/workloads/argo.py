"""Argo Workflows and Argo Rollouts (argoproj/argo-workflows, argoproj/argo-rollouts).

Not checked: `podSpecPatch` and the manifest of a `resource` template, which are texts. The labels of an object do not
reach its pods, so that Kueue does not see them.
"""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.pods.pod import INIT
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Condition, Containers, PodPath, at

_GROUP, _VERSIONS = "argoproj.io", ("v1alpha1",)
_MAIN = "main"
"""The name of the container of a template, whatever the template says (`workflow/common`, MainContainerName)."""

_PARTS = (
    Containers(("initContainers", EVERY), kind=INIT),
    Containers(("container",), name=_MAIN),
    Containers(("script",), name=_MAIN),
    Containers(("containerSet", "containers", EVERY)),
    Containers(("sidecars", EVERY)),
)


def _is_patched(*spec: str) -> Condition:
    """Whether a `podSpecPatch` of the workflow or of a template may choose nodes, or replace amounts."""

    def condition(manifest: Members, _path: Path) -> bool:
        workflow = at(manifest, spec)
        templates = at(workflow, ("templates",))
        holders = (workflow, at(workflow, ("templateDefaults",)), *(templates if isinstance(templates, list) else ()))
        return any(at(holder, ("podSpecPatch",)) for holder in holders)

    return condition


def _workflow(*spec: str) -> tuple[PodPath, ...]:
    """The paths of a WorkflowSpec: each template runs as a pod.

    Its fields replace those of the workflow and of the defaults; the fields of an inline template also replace those of
    the template around it (`addSchedulingConstraints`).
    """
    defaults, templates = (*spec, "templateDefaults"), (*spec, "templates", EVERY)
    inline = (*templates, "dag", "tasks", EVERY, "inline"), (*templates, "steps", EVERY, EVERY, "inline")
    return (
        PodPath(templates, Assembly(_PARTS, (spec, defaults, templates)), renders=True),
        *(PodPath(place, Assembly(_PARTS, (spec, defaults, templates, place)), renders=True) for place in inline),
        PodPath(defaults, Assembly(_PARTS, (spec, defaults)), renders=True),
    )


def _of_workflows(kind: str, *spec: str) -> Kind:
    return Kind(_GROUP, kind, _workflow(*spec), _VERSIONS, labels=None, has_open_nodes=_is_patched(*spec))


WORKFLOWS = (
    _of_workflows("Workflow", "spec"),
    _of_workflows("WorkflowTemplate", "spec"),
    replace(_of_workflows("ClusterWorkflowTemplate", "spec"), namespaced=False),
    # The `suspend` of a CronWorkflow itself only stops its schedule.
    replace(_of_workflows("CronWorkflow", "spec", "workflowSpec"), suspended=(("spec", "workflowSpec", "suspend"),)),
)

_EXPERIMENT = (PodPath(("spec", "templates", EVERY, "template")),)
_JOB_OF_METRIC = PodPath(("spec", "metrics", EVERY, "provider", "job", "spec", "template"), renders=True)

ROLLOUTS = (
    Kind(_GROUP, "Rollout", (PodPath(("spec", "template")),), _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "Experiment", _EXPERIMENT, _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "AnalysisTemplate", (_JOB_OF_METRIC,), _VERSIONS, suspended=(), labels=None),
    Kind(_GROUP, "ClusterAnalysisTemplate", (_JOB_OF_METRIC,), _VERSIONS, namespaced=False, suspended=(), labels=None),
)
"""The kinds of the presets."""
