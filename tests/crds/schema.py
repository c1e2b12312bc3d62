"""What a schema says of an object: the fields at a path, and every place that holds a pod or asks for resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.policy.workloads.paths import EVERY, MEMBER, REPEATED, PathPattern

Schema = Mapping[str, Any]

_OF_POD_SPECS = frozenset({"containers", "ephemeralContainers", "initContainers", "overhead", "resources"})


def at(schema: Schema, steps: PathPattern) -> Schema | None:
    """The schema at a path; None where the path does not exist."""
    for step in steps:
        below = every(schema) if step in REPEATED else fields(schema).get(step)
        if below is None:
            return None
        schema = below
    return schema


def fields(schema: Schema) -> Mapping[str, Schema]:
    """The schemas of the fields that an object names; empty for anything else."""
    return schema.get("properties") or {}


def every(schema: Schema) -> Schema | None:
    """The schema of the elements of a list, or of the members of a mapping; None for anything else."""
    below = schema.get("items", schema.get("additionalProperties"))
    return below if isinstance(below, dict) else None


def is_open(schema: Schema) -> bool:
    """Whether a schema accepts any field and names none, so that it does not say what it holds."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) and not fields(schema)


def is_pod_spec(schema: Schema) -> bool:
    """Whether a schema is of a PodSpec, and not of a patch of one, whose containers have no resources."""
    names = fields(schema)
    containers = every(names.get("containers", {})) or {}
    return "tolerations" in names and "resources" in fields(containers)


def is_request(schema: Schema) -> bool:
    """Whether a schema is of the resources of a container, or of the GPU of a role of Spark."""
    names = fields(schema).keys()
    return {"limits", "requests"} <= names or names == {"name", "quantity"}


def places(schema: Schema, steps: PathPattern = ()) -> Iterator[PathPattern]:
    """The places of pod specifications, and those that ask for resources outside the containers of one.

    KServe's pod specifications have more than Kubernetes' fields: containers of frameworks. `status` is left out.
    """
    pod = is_pod_spec(schema)
    if pod or is_request(schema):
        yield steps
    for name, below in fields(schema).items():
        if not (pod and name in _OF_POD_SPECS) and not (steps == () and name == "status"):
            yield from _outside_claims(below, (*steps, name))
    element = every(schema)
    if element is not None:
        yield from _outside_claims(element, (*steps, EVERY if "items" in schema else MEMBER))


def _outside_claims(schema: Schema, steps: PathPattern) -> Iterator[PathPattern]:
    """The places, but for those in the claim for a volume: its resources are storage."""
    return iter(()) if "accessModes" in fields(schema) else places(schema, steps)
