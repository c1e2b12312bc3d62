"""Tekton Pipelines: tasks, whose steps become the containers of one pod (tektoncd/pipeline, `pkg/apis/pipeline/v1`).

The steps run one after another, but the pod holds the resources of all of them (`docs/compute-resources.md`). A task
has no fields to choose nodes: its runs have them.
"""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Containers, PathPattern, PodPath, always, at

_GROUP, _VERSIONS = "tekton.dev", ("v1", "v1beta1")
_STEPS = (Containers(("steps", EVERY), "step", template=("stepTemplate",)), Containers(("sidecars", EVERY), "step"))
_OF_RUN = (
    Containers(("computeResources",), "resources", name="each step"),  # the limits become those of every step
    Containers(("stepSpecs", EVERY), "step"),
    Containers(("sidecarSpecs", EVERY), "step"),
    Containers(("stepOverrides", EVERY)),  # v1beta1
    Containers(("sidecarOverrides", EVERY)),  # v1beta1
)
"""The amounts that a run sets for the steps of its task, whatever the steps ask for."""

_POD_TEMPLATE: PathPattern = ("spec", "podTemplate")
_POD_TEMPLATES: tuple[PathPattern, ...] = (_POD_TEMPLATE, ("spec", "taskRunTemplate", "podTemplate"))  # v1beta1, v1
_TASK_RUN: PathPattern = ("spec", "taskRunSpecs", EVERY)


def _task(*steps: str, around: tuple[PathPattern, ...] = ()) -> PodPath:
    return PodPath(steps, Assembly(_STEPS, around), renders=True)


def _tasks(*spec: str, around: tuple[PathPattern, ...] = ()) -> tuple[PodPath, ...]:
    return tuple(_task(*spec, field, EVERY, "taskSpec", around=around) for field in ("tasks", "finally"))


def _run(steps: PathPattern, *around: PathPattern) -> PodPath:
    return PodPath(steps, Assembly(_OF_RUN, around), renders=True)


def _sets_pods_of_tasks(manifest: Members, _path: Path) -> bool:
    """Whether a run has pod templates for some tasks by name, which replace fields of the one for all tasks."""
    entries = at(manifest, _TASK_RUN[:-1])
    return any(
        isinstance(entry, dict) and (entry.get("podTemplate") or entry.get("taskPodTemplate"))
        for entry in (entries if isinstance(entries, list) else ())
    )


def _kind(kind: str, *paths: PodPath) -> Kind:
    return Kind(_GROUP, kind, paths, _VERSIONS, suspended=())


_TASK = replace(_kind("Task", _task("spec")), is_used_elsewhere=always)
_PIPELINE_RUN = _kind(
    "PipelineRun",
    *_tasks("spec", "pipelineSpec", around=_POD_TEMPLATES),
    _run(_TASK_RUN, *_POD_TEMPLATES, (*_TASK_RUN, "taskPodTemplate"), (*_TASK_RUN, "podTemplate")),
)

KINDS = (
    _TASK,
    # Deprecated since v0.41, gone from current releases.
    replace(_TASK, kind="ClusterTask", versions=("v1beta1",), namespaced=False),
    _kind("TaskRun", _task("spec", "taskSpec", around=(_POD_TEMPLATE,)), _run(("spec",), _POD_TEMPLATE)),
    replace(_kind("Pipeline", *_tasks("spec")), is_used_elsewhere=always),
    replace(_PIPELINE_RUN, is_used_elsewhere=_sets_pods_of_tasks),
)
"""The kinds of the preset."""
