"""Tekton Pipelines: tasks, whose steps become the containers of one pod (tektoncd/pipeline, `pkg/apis/pipeline/v1`)."""

from __future__ import annotations

from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import EVERY, Assembly, Part, PodPath, Steps

_GROUP, _VERSIONS = "tekton.dev", ("v1", "v1beta1")
_RUN_TEMPLATE: Steps = ("spec", "taskRunTemplate", "podTemplate")
_PARTS = (Part(("steps", EVERY), "step"), Part(("sidecars", EVERY), "step"))


def _task(*steps: str, around: tuple[Steps, ...] = ()) -> PodPath:
    return PodPath(steps, Assembly(_PARTS, around), renders=True)


KINDS = (
    Kind(_GROUP, "Task", (_task("spec"),), "tasks", _VERSIONS),
    Kind(_GROUP, "TaskRun", (_task("spec", "taskSpec", around=(("spec", "podTemplate"),)),), "taskruns", _VERSIONS),
    Kind(
        _GROUP,
        "Pipeline",
        (_task("spec", "tasks", EVERY, "taskSpec"), _task("spec", "finally", EVERY, "taskSpec")),
        "pipelines",
        _VERSIONS,
    ),
    Kind(
        _GROUP,
        "PipelineRun",
        tuple(
            _task("spec", "pipelineSpec", field, EVERY, "taskSpec", around=(_RUN_TEMPLATE,))
            for field in ("tasks", "finally")
        ),
        "pipelineruns",
        _VERSIONS,
    ),
)
"""The kinds of the preset."""
