"""The presets against the published definitions: every path leads to what it says, and no place with pods is missed."""

from __future__ import annotations

from itertools import product

import pytest

from tests.crds.complete import complete
from tests.crds.published import DEFINITIONS, Definition, definitions, published
from tests.crds.schema import Schema, at, fields, holds, places
from tests.crds.unchecked import RETIRED_KINDS, UNCHECKED_FIELDS, UNCHECKED_KINDS
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import CONTAINERS, Assembly, PodPath, Steps
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow  # downloads what is missing

KINDS = {
    (kind.group, kind.kind): kind
    for preset in PRESETS
    for kind in preset.kinds
    if (kind.group, kind.kind) not in RETIRED_KINDS
}


def identity(kind: Kind) -> str:
    return f"{kind.group}/{kind.kind}"


EACH_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=identity)
EACH_MODULE = pytest.mark.parametrize("module", DEFINITIONS)

OF_ONE_VERSION = {
    *("podTemplate", "taskPodTemplate", "taskRunTemplate"),
    *("stepOverrides", "sidecarOverrides", "stepSpecs", "sidecarSpecs"),
}
"""Fields of Tekton that v1 has and v1beta1 has not, or the other way round."""
USUAL = Kind("", "", ())


@EACH_KIND
def test_kind_has_published_versions_plural_and_scope(kind: Kind) -> None:
    found = published(kind.group, kind.kind)
    assert set(kind.versions) == {version for definition in found for version in definition.schemas}
    assert {kind.resource} == {definition.plural for definition in found}
    assert {kind.namespaced} == {definition.namespaced for definition in found}


@EACH_KIND
def test_paths_lead_to_what_they_hold(kind: Kind) -> None:
    found = schemas(kind)
    for path, (where, schema) in product(kind.paths, found):
        end = at(schema, path.steps)
        if end is None:
            assert OF_ONE_VERSION & set(path.steps), f"{where} has no {dotted(path.steps)}"
        else:
            assert wrong_ends(path, end) == [], f"{where} {dotted(path.steps)}"
    assert [path for path in kind.paths if not any(at(schema, path.steps) for _, schema in found)] == []


@EACH_KIND
def test_fields_of_pods_around_containers_are_published(kind: Kind) -> None:
    around = {steps for path in kind.paths if isinstance(path.holds, Assembly) for steps in path.holds.around}
    for steps, (where, schema) in product(around, schemas(kind)):
        names = fields(at(schema, steps) or {}).keys()
        assert names or OF_ONE_VERSION & set(steps), f"{where} has no {dotted(steps)}"
        assert not names or {"nodeSelector", "tolerations"} & names, f"{where} {dotted(steps)}: {sorted(names)}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.suspended != USUAL.suspended], ids=identity)
def test_fields_that_suspend_are_published(kind: Kind) -> None:
    for path, (where, schema) in product(kind.suspended, schemas(kind)):
        assert at(schema, tuple(map(str, path))), f"{where} has no {path}"


@EACH_MODULE
def test_no_place_with_pods_is_missed(module: str) -> None:
    for definition, version in versions():
        if definition.module != module:
            continue
        name, held = (definition.group, definition.kind), pods_of(definition, version)
        kind = KINDS.get(name)
        if kind is None:
            assert not held or name in UNCHECKED_KINDS, f"{definition.name} {version}: {[*map(dotted, held)]}"
        else:
            read = {steps for path in kind.paths for steps in read_by(path)}
            missed = [dotted(steps) for steps in held - read if not is_unchecked(definition.group, steps)]
            assert missed == [], f"{definition.name} {version}"


def test_retired_kinds_are_not_published() -> None:
    assert [kind for group, kind in RETIRED_KINDS if published(group, kind)] == []


def test_unchecked_kinds_and_fields_hold_pods() -> None:
    held = [(each.group, each.kind, steps) for each, version in versions() for steps in pods_of(each, version)]
    assert set(UNCHECKED_KINDS) <= {(group, kind) for group, kind, _ in held} - set(KINDS)
    unneeded = [
        (group, field)
        for group, field in UNCHECKED_FIELDS
        if not any(group == other and contains(steps, field) for other, _, steps in held)
    ]
    assert unneeded == []


def versions() -> list[tuple[Definition, str]]:
    return [(definition, version) for definition in definitions() for version in definition.schemas]


def schemas(kind: Kind) -> list[tuple[str, Schema]]:
    """The schemas of a kind, each with its module and version."""
    return [
        (f"{kind.kind} {version} of {definition.module}", complete(definition, version))
        for definition in published(kind.group, kind.kind)
        for version in definition.schemas
    ]


def wrong_ends(path: PodPath, end: Schema) -> list[str]:
    """What a path leads to where that is not what it holds; the parts of an assembly that lead nowhere."""
    if isinstance(path.holds, Assembly):
        named = [(part.form, part.steps) for part in path.holds.parts]
        named += [(part.form, part.template) for part in path.holds.parts if part.template is not None]
        return [
            dotted(steps)
            for form, steps in named
            if not is_a(form, at(end, steps)) and (at(end, steps) or not OF_ONE_VERSION & set(steps))
        ]
    return [] if is_a(path.holds, end) else [str(holds(end))]


def is_a(form: str, schema: Schema | None) -> bool:
    """Whether a schema is of a form. A step of Tekton had the form of a container before v1."""
    found = None if schema is None else holds(schema)
    return found == form or (form == "step" and found == "container")


def pods_of(definition: Definition, version: str) -> set[Steps]:
    return {to_pod(steps, held) for steps, held in places(complete(definition, version))}


def read_by(path: PodPath) -> set[Steps]:
    """The places that a path reads."""
    if not isinstance(path.holds, Assembly):
        return {to_pod(path.steps, path.holds)}
    read = {(*path.steps, *part.steps) for part in path.holds.parts}
    read |= {(*path.steps, *part.template) for part in path.holds.parts if part.template is not None}
    return read | {path.steps} if set(CONTAINERS) <= set(path.holds.parts) else read


def to_pod(steps: Steps, held: str) -> Steps:
    """A place, or the one of the pod specification that a template holds."""
    return (*steps, "spec") if held == "template" else steps


def is_unchecked(group: str, steps: Steps) -> bool:
    return any(group == other and contains(steps, field) for other, field in UNCHECKED_FIELDS)


def contains(steps: Steps, part: Steps) -> bool:
    return any(steps[start : start + len(part)] == part for start in range(len(steps)))


def dotted(steps: Steps) -> str:
    return ".".join(steps)
