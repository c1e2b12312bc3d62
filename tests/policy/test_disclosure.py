"""A message describes the tenant's own object. It names no other namespace, and no node except the nearest one.

Only GPS014 names that node: a Pending pod cannot be debugged without it, and its author sees the names of nodes anyway.
The remedies of GPS001 and GPS002 name a node of unknown class: without it, no administrator finds the cause.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.fixture import Fixture, evaluator_of, load_all
from webhook.policy.context import RequestContext

HIDDEN = "hidden-name-"
INFORMED = [fixture for fixture in load_all() if fixture.facts is not None and fixture.expect.findings]


def with_hidden_names(fixture: Fixture) -> tuple[Fixture, int]:
    """The fixture with other names of nodes and namespaces, except those that it names itself, and their number."""
    own = json.dumps([fixture.object, fixture.settings, fixture.namespace])
    facts: Any = json.loads(json.dumps(fixture.facts))
    known = [entry for kind in ("nodes", "namespaces") for entry in facts.get(kind) or ()]
    others = [entry for entry in known if not re.search(rf"(?<![\w.-]){re.escape(entry['name'])}(?![\w-])", own)]
    for index, entry in enumerate(others):
        entry["name"] = f"{HIDDEN}{index}"
    return replace(fixture, facts=facts), len(others)


NAMES = re.compile(rf"{HIDDEN}\d+")


def hidden_names_in(fixture: Fixture) -> dict[str, list[str]]:
    """The hidden names in each message, and in each remedy that may name a node, by code."""
    evaluator, kind = evaluator_of(fixture), fixture.object["kind"]
    verdict = evaluator.evaluate(fixture.object, fixture.group, kind, RequestContext(fixture.namespace))
    assert verdict.findings
    named: dict[str, list[str]] = {}
    for found in verdict.findings:
        named.setdefault(found.code, []).extend(NAMES.findall(found.message))
        if found.code in ("GPS001", "GPS002"):
            named.setdefault(f"remedy of {found.code}", []).extend(NAMES.findall(found.remedy))
        else:
            assert not NAMES.search(found.remedy)
    return named


@pytest.mark.parametrize("fixture", INFORMED, ids=lambda fixture: fixture.name)
def test_one_node_at_most_is_named_and_no_other_namespace(fixture: Fixture) -> None:
    hidden, _ = with_hidden_names(fixture)
    named = hidden_names_in(hidden)
    nodes = {node["name"] for node in (hidden.facts or {}).get("nodes") or ()}
    for where in ("GPS014", "remedy of GPS001", "remedy of GPS002"):
        allowed = named.pop(where, [])
        assert len(allowed) <= 1
        assert {*allowed} <= nodes
    assert not any(named.values()), named


def test_fixtures_have_names_to_hide() -> None:
    assert sum(count > 0 for _, count in map(with_hidden_names, INFORMED)) > 10
