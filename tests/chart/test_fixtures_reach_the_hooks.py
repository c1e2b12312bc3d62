"""The chart's match conditions send every fixture that has findings or edits."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests import fixture
from tests.chart.matching import called_by
from tests.contract.offline import CONFIG_MAPS, CONFIGURATIONS, LIMITS_OF_NAMESPACES, NOT_SEARCHED
from tests.fixture import Fixture
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow

FIXTURES = {one.name: one for one in fixture.load_all()}


def installation(one: Fixture) -> dict[str, Any]:
    """Values that install the fixture's settings, which name its custom kinds."""
    return {"config": one.settings or {}}


def asked(one: Fixture) -> dict[str, Any]:
    """The request for the fixture's object, which has no namespace if its kind is cluster-scoped."""
    request: dict[str, Any] = fixture.review(one)["request"]
    return request | ({"namespace": ""} if (one.group, one.object["kind"]) in CLUSTER_SCOPED else {})


CLUSTER_SCOPED = {(kind.group, kind.kind) for preset in PRESETS for kind in preset.kinds if not kind.namespaced}


@cache
def called() -> dict[str, set[str] | None]:
    """The entries that are called for each fixture."""
    by_values: dict[str, list[Fixture]] = {}
    for one in FIXTURES.values():
        by_values.setdefault(json.dumps(installation(one), sort_keys=True), []).append(one)
    groups = [(json.loads(values), [asked(one) for one in held]) for values, held in by_values.items()]
    found = called_by(groups)
    return {
        one.name: entries
        for held, several in zip(by_values.values(), found, strict=True)
        for one, entries in zip(held, several, strict=True)
    }


NOT_SENT = ("GPS007/class-of-a-component-of-dynamo",)
"""The entries of custom kinds match only objects that name a GPU, and their pods are checked when they are created."""

WITH_FINDINGS = [
    name
    for name, one in FIXTURES.items()
    if one.expect.findings
    and name not in (*NOT_SEARCHED, *NOT_SENT, *LIMITS_OF_NAMESPACES, *CONFIGURATIONS, *CONFIG_MAPS)
]


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_objects_with_findings_are_sent(name: str) -> None:
    entries = called()[name]
    assert entries is None or any(".validate" in entry for entry in entries), FIXTURES[name].object


@pytest.mark.parametrize("name", NOT_SENT)
def test_custom_objects_without_amounts_are_not_sent(name: str) -> None:
    assert called()[name] == set()


@pytest.mark.parametrize("name", [name for name, one in FIXTURES.items() if one.expect.patch])
def test_objects_with_edits_are_sent(name: str) -> None:
    entries = called()[name]
    assert entries is None or any(".mutate" in entry for entry in entries), FIXTURES[name].object


def test_api_server_decodes_all_fixtures_but_the_invalid_ones() -> None:
    unread = {name for name, entries in called().items() if entries is None}
    assert unread == {
        "GPS003/boolean",
        "GPS003/both-wrong",
        "GPS003/list",
        "GPS003/mapping",
        "GPS003/not-a-quantity",
        "GPS003/placeholder-of-helm",
        "GPS003/placeholder-of-openshift",
        "GPS003/placeholder-of-shell",
        "GPS003/placeholder-of-variable",
        "GPS007/mount-path-of-another-type",
        "GPS032/limit-range-without-amount",
        "GPS013/unknown-name-with-malformed-amount",
        "GPS018/number-above-range",
        "GPS018/number-without-quotes",
        "GPS023/resource-slice",
        "GPS026/amounts",
        "workloads/daemonset",
    }
