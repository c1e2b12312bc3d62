"""Tekton Pipelines: tasks, whose steps become the containers of one pod (tektoncd/pipeline, `pkg/apis/pipeline/v1`).

The steps run one after another, but the pod holds the resources of all of them (`docs/compute-resources.md`). A task
has no fields to choose nodes: its runs have them.
"""

from __future__ import annotations

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


def _run(steps: PathPattern, around: tuple[PathPattern, ...]) -> PodPath:
    return PodPath(steps, Assembly(_OF_RUN, around), renders=True)


def _sets_pods_of_tasks(manifest: Members, _path: Path) -> bool:
    """Whether a run has pod templates for some tasks by name, which replace fields of the one for all tasks."""
    entries = at(manifest, _TASK_RUN[:-1])
    return any(
        isinstance(entry, dict) and (entry.get("podTemplate") or entry.get("taskPodTemplate"))
        for entry in (entries if isinstance(entries, list) else ())
    )


_TASK = (_task("spec"),)

KINDS = (
    Kind(_GROUP, "Task", _TASK, _VERSIONS, suspended=(), is_used_elsewhere=always),
    Kind(
        _GROUP,
        "ClusterTask",  # deprecated since v0.41, gone from current releases
        _TASK,
        ("v1beta1",),
        namespaced=False,
        suspended=(),
        is_used_elsewhere=always,
    ),
    Kind(
        _GROUP,
        "TaskRun",
        (_task("spec", "taskSpec", around=(_POD_TEMPLATE,)), _run(("spec",), (_POD_TEMPLATE,))),
        _VERSIONS,
        suspended=(),
    ),
    Kind(
        _GROUP,
        "Pipeline",
        (_task("spec", "tasks", EVERY, "taskSpec"), _task("spec", "finally", EVERY, "taskSpec")),
        _VERSIONS,
        suspended=(),
        is_used_elsewhere=always,
    ),
    Kind(
        _GROUP,
        "PipelineRun",
        (
            *(
                _task("spec", "pipelineSpec", field, EVERY, "taskSpec", around=_POD_TEMPLATES)
                for field in ("tasks", "finally")
            ),
            _run(_TASK_RUN, (*_POD_TEMPLATES, (*_TASK_RUN, "taskPodTemplate"), (*_TASK_RUN, "podTemplate"))),
        ),
        _VERSIONS,
        suspended=(),
        is_used_elsewhere=_sets_pods_of_tasks,
    ),
)
"""The kinds of the preset."""
