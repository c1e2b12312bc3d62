"""What a schema holds at a path, and the search for every place of it that holds pods or asks for resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.policy.workloads.paths import EVERY, Steps

Schema = Mapping[str, Any]

_OF_POD_SPECS = frozenset({"containers", "ephemeralContainers", "initContainers", "overhead", "resources"})


def at(schema: Schema, steps: Steps) -> Schema | None:
    """The schema at a path; None where the path does not exist."""
    for step in steps:
        below = every(schema) if step == EVERY else fields(schema).get(step)
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


def holds(schema: Schema) -> str | None:
    """What an object of this schema is, in the words of `PodPath.holds`; None for anything else."""
    names = fields(schema)
    if _is_pod_spec(schema):
        return "podSpec"
    if _is_pod_spec(names.get("spec", {})):
        return "template"
    if "computeResources" in names and {"image", "name"} & names.keys():
        return "step"
    if "resources" in names and ("image" in names or names.keys() == {"name", "resources"}):
        return "container"
    if {"limits", "requests"} <= names.keys():
        return "resources"
    if fields(names.get("gpu", {})).keys() == {"name", "quantity"}:
        return "spark"
    return None


def places(schema: Schema) -> Iterator[tuple[Steps, str]]:
    """Every outermost place of an object that holds something, and what it holds; its `status` is left out.

    A pod specification may have more than Kubernetes' fields: those of KServe hold containers of frameworks. A role of
    Spark is a container, and holds others.
    """
    for name, below in fields(schema).items():
        if name != "status":
            yield from _places(below, (name,))


def _places(schema: Schema, steps: Steps) -> Iterator[tuple[Steps, str]]:
    found = holds(schema)
    if found is not None:
        yield steps, found
        if found not in ("podSpec", "spark"):
            return
    if "accessModes" in fields(schema):
        return  # a claim for a volume, whose resources are storage
    for name, below in fields(schema).items():
        if found != "podSpec" or name not in _OF_POD_SPECS:
            yield from _places(below, (*steps, name))
    element = every(schema)
    if element is not None:
        yield from _places(element, (*steps, EVERY))


def _is_pod_spec(schema: Schema) -> bool:
    """Whether a schema is of a PodSpec, and not of a patch of one, whose containers have no resources."""
    names = fields(schema)
    containers = every(names.get("containers", {})) or {}
    return "tolerations" in names and "resources" in fields(containers)
