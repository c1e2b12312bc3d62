"""Tekton Pipelines: tasks, whose steps become the containers of one pod (tektoncd/pipeline, `pkg/apis/pipeline/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Part, PodPath, Steps

_GROUP, _VERSIONS = "tekton.dev", ("v1", "v1beta1")
_OF_TASK_RUN: tuple[Steps, ...] = (("spec", "podTemplate"),)
_OF_PIPELINE_RUN: tuple[Steps, ...] = (("spec", "podTemplate"), ("spec", "taskRunTemplate", "podTemplate"))
_DEFAULTS = (Part((), "step"),)
_OVERRIDES = (
    ("computeResources",),
    ("stepSpecs", EVERY, "computeResources"),
    ("sidecarSpecs", EVERY, "computeResources"),
    ("stepOverrides", EVERY, "resources"),
    ("sidecarOverrides", EVERY, "resources"),
)
"""The resources by which a run replaces those of a task: of its steps, a step, a sidecar; the last two in v1beta1."""
_PARTS = (Part(("steps", EVERY), "step"), Part(("sidecars", EVERY), "step"))


def _task(*steps: str, around: tuple[Steps, ...] = ()) -> tuple[PodPath, ...]:
    """The paths of a TaskSpec: its pod, and the defaults of its steps."""
    return (
        PodPath(steps, Assembly(_PARTS, around), renders=True),
        PodPath((*steps, "stepTemplate"), Assembly(_DEFAULTS, around), renders=True),
    )


def _overrides(*steps: str) -> tuple[PodPath, ...]:
    return tuple(PodPath((*steps, *below), "resources") for below in _OVERRIDES)


KINDS = (
    Kind(_GROUP, "Task", _task("spec"), "tasks", _VERSIONS),
    Kind(
        _GROUP,
        "TaskRun",
        (*_task("spec", "taskSpec", around=_OF_TASK_RUN), *_overrides("spec")),
        "taskruns",
        _VERSIONS,
    ),
    Kind(
        _GROUP,
        "Pipeline",
        (*_task("spec", "tasks", EVERY, "taskSpec"), *_task("spec", "finally", EVERY, "taskSpec")),
        "pipelines",
        _VERSIONS,
    ),
    Kind(
        _GROUP,
        "PipelineRun",
        (
            *_task("spec", "pipelineSpec", "tasks", EVERY, "taskSpec", around=_OF_PIPELINE_RUN),
            *_task("spec", "pipelineSpec", "finally", EVERY, "taskSpec", around=_OF_PIPELINE_RUN),
            *_overrides("spec", "taskRunSpecs", EVERY),
        ),
        "pipelineruns",
        _VERSIONS,
    ),
)
"""The kinds of the preset."""
