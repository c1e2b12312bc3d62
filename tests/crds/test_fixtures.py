"""Objects of custom kinds in fixtures and examples are valid by the published definitions: users can have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from docs.checks import examples
from tests.crds.complete import complete
from tests.crds.published import published
from tests.crds.schema import Schema, every, fields
from tests.crds.unchecked import KINDS
from tests.fixture import Json, load_all
from webhook.policy.checks import CHECKS
from webhook.policy.verdict import Path
from webhook.policy.workloads.kinds import group_of
from webhook.report.explanation import explanation

pytestmark = pytest.mark.slow  # downloads what is missing

NO_SUSPEND = ["spec: suspend is unknown"]  # the field suspends nothing, as the fixture shows
WRONG_ON_PURPOSE = {
    "GPS023/level-missing-in-preset-kind": [
        "spec.headGroupSpec: template is required",
        "spec.headGroupSpec: spec is unknown",
    ],
    "workloads/notebook-one": ["spec.template.spec: hostUsers is unknown"],  # newer than the definition
    "workloads/leader-worker-set-with-suspend": NO_SUSPEND,
    "workloads/ray-cron-job-of-suspended-jobs": ["spec: timeZone is unknown"],  # since KubeRay 1.7
    "workloads/ray-service-of-large-workers": NO_SUSPEND,
    "workloads/spark-selectors": ["spec.executor.template.spec: containers is required"],  # the operator adds one
    "workloads/tf-job-with-suspend-elsewhere": NO_SUSPEND,
    "workloads/training-runtime": NO_SUSPEND,
    "workloads/volcano-job": NO_SUSPEND,
}
UNPUBLISHED = ("GPS023/pods-of-an-older-version",)
"""Versions that no release of the project has any more."""

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def objects() -> Iterator[tuple[str, Json]]:
    """The objects of fixtures and examples, each with its name. A configuration of the device plugin is no object."""
    for fixture in load_all():
        yield fixture.name, fixture.object
    for check in CHECKS:
        for number, example in enumerate(examples(explanation(check))):
            for text in (example.wrong, example.right):
                found = (each for each in yaml.load_all(text, yaml.CSafeLoader) if each and "apiVersion" in each)
                yield from ((f"{check.code} {number}", each) for each in found)


OF_PRESETS = [
    pytest.param(name, manifest, id=name)
    for name, manifest in objects()
    if (group_of(manifest["apiVersion"]), manifest["kind"]) in KINDS and name not in UNPUBLISHED
]


@pytest.mark.parametrize(("name", "manifest"), OF_PRESETS)
def test_object_is_valid_by_the_published_definition(name: str, manifest: Json) -> None:
    group, _, version = manifest["apiVersion"].rpartition("/")
    found = [each for each in published(group, manifest["kind"]) if version in each.schemas]
    assert len(found) == 1, f"{manifest['apiVersion']} is not published"
    schema = complete(found[0], version)
    assert list(problems(schema, {**manifest, "metadata": {}}, ())) == WRONG_ON_PURPOSE.get(name, [])


def problems(schema: Schema, value: Any, path: Path) -> Iterator[str]:
    """What the API server rejects or drops: values of another type, unknown fields, missing required ones."""
    where = ".".join(map(str, path))
    if value is None or schema.get("x-kubernetes-int-or-string"):
        return
    expected = TYPES.get(schema.get("type", ""))
    if expected is not None and not isinstance(value, expected):
        yield f"{where}: {type(value).__name__} instead of {schema['type']}"
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from problems(every(schema) or {}, element, (*path, index))
    elif isinstance(value, dict):
        known, members = fields(schema), every(schema)
        required = set(schema.get("required", ())) - {name for name, below in known.items() if "default" in below}
        yield from (f"{where}: {name} is required" for name in sorted(required - value.keys()))
        for name, below in value.items():
            if name in known or members is not None:
                yield from problems(known.get(name) or members or {}, below, (*path, name))
            elif not schema.get("x-kubernetes-preserve-unknown-fields") and "type" in schema:
                yield f"{where}: {name} is unknown"
