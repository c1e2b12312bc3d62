"""Published schemas with the fields that they leave open filled in, from the types in the projects' sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.crds.published import Definition, published
from tests.crds.schema import Schema, at, is_open, is_pod_spec
from webhook.policy.workloads.paths import EVERY, PathPattern


@dataclass(frozen=True, slots=True)
class _Type:
    """A type, by a place that has its schema, in the same version where that exists."""

    group: str
    kind: str
    steps: PathPattern

    def schema(self, version: str) -> Schema:
        (definition,) = published(self.group, self.kind)
        schemas = definition.schemas
        found = at(schemas.get(version) or next(iter(schemas.values())), self.steps)
        assert found is not None
        return found


_POD_TEMPLATE = _Type("jobset.x-k8s.io", "JobSet", ("spec", "replicatedJobs", EVERY, "template", "spec", "template"))
_OPEN_FIELDS: Mapping[str, Mapping[str, _Type]] = {
    # argoproj/argo-workflows, pkg/apis/workflow/v1alpha1/workflow_types.go: DAGTask, WorkflowStep.
    "argoproj.io": {"inline": _Type("argoproj.io", "Workflow", ("spec", "templates", EVERY))},
    # kubeflow/spark-operator, api/v1beta2: SparkPodSpec.
    "sparkoperator.k8s.io": {"template": _POD_TEMPLATE},
    # tektoncd/pipeline, pkg/apis/pipeline/v1: TaskRunSpec, PipelineTask, PipelineRunSpec.
    "tekton.dev": {
        "taskSpec": _Type("tekton.dev", "Task", ("spec",)),
        "pipelineSpec": _Type("tekton.dev", "Pipeline", ("spec",)),
    },
}


@cache
def complete(definition: Definition, version: str) -> Schema:
    """The schema of a version. An open field is not filled in again inside itself."""
    return _filled(definition.schemas[version], _OPEN_FIELDS.get(definition.group, {}), version)


def _filled(schema: Schema, fields: Mapping[str, _Type], version: str) -> Schema:
    if not fields or is_pod_spec(schema):
        return schema
    filled: dict[str, Any] = dict(schema)
    for where in ("items", "additionalProperties"):
        if isinstance(schema.get(where), dict):
            filled[where] = _filled(schema[where], fields, version)
    if "properties" in schema:
        filled["properties"] = {
            name: _field(name, below, fields, version) for name, below in schema["properties"].items()
        }
    return filled


def _field(name: str, schema: Schema, fields: Mapping[str, _Type], version: str) -> Schema:
    if name not in fields or not is_open(schema):
        return _filled(schema, fields, version)
    others = {other: type_ for other, type_ in fields.items() if other != name}
    return _filled(fields[name].schema(version), others, version)
