"""The presets against the published definitions: every path leads to what it says, and no place with pods is missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from tests.crds.complete import complete
from tests.crds.published import DEFINITIONS, Definition, definitions, published
from tests.crds.schema import Schema, at, fields, is_pod_spec, is_request, places
from tests.crds.typed import TYPED
from tests.crds.unchecked import KINDS, UNCHECKED_FIELDS, UNCHECKED_KINDS
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import CONTAINERS, MEMBER, REPEATED, Assembly, PathPattern, PodPath, steps
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow  # downloads what is missing


def identity(kind: Kind) -> str:
    return f"{kind.group}/{kind.kind}"


EACH_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=identity)
EACH_MODULE = pytest.mark.parametrize("module", DEFINITIONS)

OF_ONE_VERSION = {
    *("podTemplate", "taskPodTemplate", "taskRunTemplate"),
    *("stepOverrides", "sidecarOverrides", "stepSpecs", "sidecarSpecs"),
}
"""Fields of Tekton that v1 has and v1beta1 has not, or the other way round."""
POD: Mapping[str, PathPattern] = {"template": ("spec",), "podSpec": ()}
"""The steps from what a path holds to the pod specification."""
REQUESTS: Mapping[str, tuple[PathPattern, ...]] = {
    "container": (("resources",),),
    "resources": ((),),
    "step": (("computeResources",), ("resources",)),
    "trainer": (("resourcesPerNode",),),
    "spark": (("gpu",),),
}
"""The steps from what a path holds to its resources. Those of Tekton's steps have the second name in v1beta1."""
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
    for path in kind.paths:
        for alternatives in ends(path):
            wrong = [where for where, schema in found if not any(leads(schema, end, path) for end in alternatives)]
            assert not wrong or OF_ONE_VERSION & set(alternatives[0]), f"{wrong}: {dotted(alternatives[0])}"
            assert len(wrong) < len(found), f"no version has {dotted(alternatives[0])}"


@EACH_KIND
def test_paths_are_written_with_lists_and_mappings(kind: Kind) -> None:
    """`[*]` stands for the elements of a list, `.*` for the members of a mapping: CEL must know which."""
    for path, (where, schema) in product(kind.paths, schemas(kind)):
        for depth, step in enumerate(path.steps):
            above = at(schema, path.steps[:depth])
            if step in REPEATED and above is not None:
                assert (step == MEMBER) == ("additionalProperties" in above), f"{where} {dotted(path.steps[:depth])}"


@EACH_KIND
def test_fields_of_pods_around_containers_are_published(kind: Kind) -> None:
    around = {held for path in kind.paths if isinstance(path.holds, Assembly) for held in path.holds.around}
    for held, (where, schema) in product(around, schemas(kind)):
        names = fields(at(schema, steps(held)) or {}).keys()
        assert names or OF_ONE_VERSION & set(steps(held)), f"{where} has no {held}"
        assert not names or {"nodeSelector", "tolerations"} & names, f"{where} {held}: {sorted(names)}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.suspended != USUAL.suspended], ids=identity)
def test_fields_that_suspend_are_published(kind: Kind) -> None:
    for path, (where, schema) in product(kind.suspended, schemas(kind)):
        assert at(schema, steps(path)), f"{where} has no {path}"


@EACH_MODULE
def test_no_place_with_pods_is_missed(module: str) -> None:
    for definition, version in versions():
        if definition.module != module:
            continue
        name, held = (definition.group, definition.kind), set(places(complete(definition, version)))
        kind = KINDS.get(name)
        if kind is None:
            assert not held or name in UNCHECKED_KINDS, f"{definition.name} {version}: {[*map(dotted, held)]}"
        else:
            read = {place for path in kind.paths for place in read_by(path)}
            unchecked = [field for group, field in UNCHECKED_FIELDS if group == definition.group]
            missed = [dotted(one) for one in held - read if not any(contains(one, field) for field in unchecked)]
            assert missed == [], f"{definition.name} {version}"


def test_typed_kinds_are_of_presets_and_not_published() -> None:
    assert TYPED.keys() <= {(kind.group, kind.kind) for preset in PRESETS for kind in preset.kinds}
    assert [name for name in TYPED if published(*name)] == []


def test_unchecked_kinds_and_fields_hold_pods() -> None:
    held = [(each.group, each.kind, place) for each, version in versions() for place in places(complete(each, version))]
    assert set(UNCHECKED_KINDS) <= {(group, kind) for group, kind, _ in held} - set(KINDS)
    unneeded = [
        (group, field)
        for group, field in UNCHECKED_FIELDS
        if not any(group == other and contains(place, field) for other, _, place in held)
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


def ends(path: PodPath) -> Iterator[tuple[PathPattern, ...]]:
    """The places that a path reads, each with its other names."""
    if isinstance(path.holds, Assembly):
        for below, form in path.holds.requests:
            yield tuple((*path.steps, *steps(below), *request) for request in REQUESTS[form])
    elif path.holds in POD:
        yield ((*path.steps, *POD[path.holds]),)
    else:
        yield tuple((*path.steps, *request) for request in REQUESTS[path.holds])


def leads(schema: Schema, end: PathPattern, path: PodPath) -> bool:
    found = at(schema, end)
    if found is None or path.holds in POD:
        return found is not None and is_pod_spec(found)
    return is_request(found) and not is_pod_spec(at(schema, end[:-1]) or {})  # a pod may have resources of its own


def read_by(path: PodPath) -> Iterator[PathPattern]:
    """The places that a path reads. One that reads all containers of a pod specification reads that."""
    for alternatives in ends(path):
        yield from alternatives
    if isinstance(path.holds, Assembly) and set(CONTAINERS) <= set(path.holds.parts):
        yield path.steps


def contains(place: PathPattern, part: PathPattern) -> bool:
    return any(place[start : start + len(part)] == part for start in range(len(place)))


def dotted(place: PathPattern) -> str:
    return ".".join(place)
