"""Fixtures: an object each, with its expected verdict and patch. All tests that evaluate objects read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from webhook.admission import Hook
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.workloads.kinds import group_of
from webhook.settings.load import load, load_facts

FOLDER = Path(__file__).parent / "fixtures"

Json = dict[str, Any]

HOOKS: Mapping[str, Hook | None] = {
    "offline": None,
    "mutate": Hook.MUTATE,
    "mutate-without-hostpath": Hook.MUTATE_WITHOUT_HOSTPATH,
    "validate": Hook.VALIDATE,
}
"""The hook that receives the object; None for the command line."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected verdict. `findings` may include a message and a remedy; `patch` is the one that is sent."""

    decision: Literal["allowed", "warned", "denied"]
    findings: tuple[Mapping[str, str], ...]
    patch: list[Json]


@dataclass(frozen=True, slots=True, eq=False)
class Fixture:
    """One fixture, which equals no other. `name` is its folder and file, such as `GPS001/two-replicas`.

    `settings` and `facts` are what their files would hold, None without a file. `groups` are the caller's.
    `subresource` is empty where the request is about the object itself.
    """

    name: str
    about: str
    hook: str
    operation: str
    subresource: str
    namespace: str
    groups: tuple[str, ...]
    settings: Json | None
    facts: Json | None
    object: Json
    old_object: Json | None
    expect: Expected

    @property
    def folder(self) -> str:
        """The check or injection that the fixture is about."""
        return self.name.partition("/")[0]

    @property
    def group(self) -> str:
        """The API group of the object."""
        return group_of(self.object["apiVersion"])

    @property
    def is_pod(self) -> bool:
        """Whether the object is a Pod itself."""
        return self.group == "" and self.object["kind"] == "Pod"


def load_all() -> tuple[Fixture, ...]:
    """Every fixture, in the order of names."""
    return tuple(_read(file) for file in sorted(FOLDER.glob("*/*.yaml")))


_KEYS = {
    *("about", "hook", "operation", "subresource", "namespace", "groups", "settings", "facts"),
    *("object", "oldObject", "expect"),
}


@cache
def _read(file: Path) -> Fixture:
    value = yaml.load(file.read_text(), yaml.CSafeLoader)
    name = f"{file.parent.name}/{file.stem}"
    unknown = value.keys() - _KEYS
    if unknown:
        raise ValueError(f"{name}: {', '.join(unknown)} is not a key of a fixture")
    expect = value["expect"]
    return Fixture(
        name,
        value["about"],
        value.get("hook", "offline"),
        value.get("operation", "CREATE"),
        value.get("subresource", ""),
        _namespace(value),
        tuple(value.get("groups", ("system:authenticated",))),
        _file("Settings", value.get("settings")),
        _file("Facts", value.get("facts")),
        value["object"],
        value.get("oldObject"),
        Expected(expect["decision"], tuple(expect["findings"]), expect["patch"]),
    )


def _namespace(value: Json) -> str:
    """The namespace of the object; a fixture of a cluster-scoped object says that it is empty."""
    if "namespace" in value:
        return cast("str", value["namespace"])
    return (value["object"].get("metadata") or {}).get("namespace") or "default"


def _file(kind: str, body: Json | None) -> Json | None:
    return None if body is None else {"apiVersion": "gpushare-webhook/v1", "kind": kind, **body}


def evaluator_of(fixture: Fixture) -> OfflineEvaluator:
    """The evaluator for the fixture's settings and facts, the same for all fixtures with these."""
    return _evaluator(json.dumps(fixture.settings), json.dumps(fixture.facts))


def origin_of(fixture: Fixture) -> RequestContext:
    """The origin of a fixture's object: a request to its hook, or the command line."""
    hook = HOOKS[fixture.hook]
    return RequestContext(
        fixture.namespace,
        is_final_hook=fixture.hook == "validate",
        hostpath=None if hook is None else hook.hostpath,
        groups=None if hook is None else fixture.groups,
    )


@cache
def _evaluator(settings: str, facts: str) -> OfflineEvaluator:
    read = load(json.loads(settings), _nowhere, "settings").settings
    return OfflineEvaluator.of(read, load_facts(json.loads(facts), _nowhere, "facts"))


def _nowhere(path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def review(fixture: Fixture) -> Json:
    """The AdmissionReview that the API server would send for the fixture's object."""
    group, _, version = fixture.object["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": fixture.object["kind"]}
    metadata = fixture.object.get("metadata") or {}
    request = {
        "uid": "6a0e5f4c-6a1c-4a55-9d5e-5d1a3f8f2b10",
        "kind": kind,
        "resource": {"group": group, "version": version, "resource": f"{fixture.object['kind'].lower()}s"},
        "name": metadata.get("name") or "",
        "namespace": fixture.namespace,
        "operation": fixture.operation,
        "subResource": fixture.subresource,
        "userInfo": {"username": "someone", "groups": list(fixture.groups)},
        "object": fixture.object,
        "oldObject": fixture.old_object,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{fixture.operation.capitalize()}Options"},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
