"""Every fixture of the codes and of the injections that policies decide, in both kinds of namespaces."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from tests.cluster.policies.comparison import Decided, differences, report
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.sides import HOOKED, POLICED
from tests.fixture import load_all, settings_of
from webhook.inprocess.kinds import COVERED
from webhook.policy.evaluate import Evaluator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.policies.sides import Answer, Sides
    from tests.fixture import Fixture

FOLDERS = {
    *("GPS001", "GPS002", "GPS003", "GPS004", "GPS010", "GPS017", "GPS018"),
    *("pipeDirectory", "pipeMount", "limits", "tolerations", "runtimeClass"),
}
_BUILT_IN = {(one.kind.group, one.kind.kind) for one in COVERED if one.preset is None}

EVERY = 14
"""One group in so many is an ordinary test, the first of them with the default settings."""

_GATED = "the policies leave pods whose nodes are chosen later to the webhook"
DIFFERENCES = {
    "GPS001/gated-pod-of-renamed-resource": _GATED,
    "GPS001/gated-pod-on-mps-nodes": _GATED,
}
"""The fixtures about which the policies answer otherwise than the webhook, each with the reason."""


def _is_sent(fixture: Fixture) -> bool:
    """Whether a request can show the fixture: facts are files, and a debug container is another request."""
    return fixture.facts is None and not fixture.subresource and (fixture.group, fixture.object["kind"]) in _BUILT_IN


def _key(fixture: Fixture) -> str:
    return json.dumps(fixture.settings)


def _groups() -> list[list[Fixture]]:
    """The fixtures by their settings: those of the folders, and with the default settings all."""
    found = [one for one in load_all() if _is_sent(one) and (one.folder in FOLDERS or one.settings is None)]
    return [list(group) for _, group in groupby(sorted(found, key=_key), _key)]


@pytest.mark.exhaustive(every=EVERY)
@pytest.mark.parametrize("fixtures", _groups(), ids=lambda group: f"{group[0].name}-{len(group)}")
def test_fixtures_get_same_answer(both: Sides, fixtures: Sequence[Fixture], tmp_path: Path) -> None:
    both.evaluator = None
    updates = [one for one in fixtures if one.operation == "UPDATE" and _store(both, one)]
    creates = [one for one in fixtures if one.operation == "CREATE"]
    forms = "vap,map" if any(one.folder.startswith("GPS") for one in fixtures) else "map"
    objects = exported(tmp_path, fixtures[0].settings, "--as", forms)
    decided = Decided.by(objects)
    both.evaluator = Evaluator.of(replace(settings_of(fixtures[0]), deny_in_mutate=False))
    wrong = {}
    with installed(both.running, objects):
        for one in (*creates, *updates):
            by_policies, by_webhook = (_send(both, one, space) for space in (POLICED, HOOKED))
            if found := differences(by_policies, by_webhook, decided):
                wrong[one.name] = found
    unexplained = {name: found for name, found in wrong.items() if name not in DIFFERENCES}
    assert not unexplained, report(unexplained)
    assert {one.name for one in fixtures} & DIFFERENCES.keys() <= wrong.keys(), "a difference is gone"


def _named(manifest: Object, name: str) -> Object:
    """The object with a name of its own, and without the volume of the service account, whose name is random."""
    named = {**manifest, "metadata": {**(manifest.get("metadata") or {}), "name": name}}
    if manifest["kind"] == "Pod" and isinstance(manifest.get("spec"), dict):
        named["spec"] = {"automountServiceAccountToken": False, **manifest["spec"]}
    return named


def _name(fixture: Fixture) -> str:
    return fixture.name.lower().replace("/", "-")


def _store(both: Sides, fixture: Fixture) -> bool:
    """Store the old object of an update in both namespaces. The API server may reject it."""
    assert fixture.old_object is not None
    old = _named(fixture.old_object, _name(fixture))
    return all(both.create(old, space, dry=False).status < 300 for space in (POLICED, HOOKED))


def _send(both: Sides, fixture: Fixture, space: str) -> Answer:
    manifest = _named(fixture.object, _name(fixture))
    if fixture.operation == "UPDATE":
        return both.replace(manifest, space)
    return both.create(manifest, space)
