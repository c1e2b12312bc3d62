"""A message describes the tenant's own object. It names no node and no other namespace, even where facts decide."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.fixture import Fixture, evaluator_of, load_all
from webhook.policy.context import Origin

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


@pytest.mark.parametrize("fixture", INFORMED, ids=lambda fixture: fixture.name)
def test_message_names_no_node_and_no_other_namespace(fixture: Fixture) -> None:
    hidden, _ = with_hidden_names(fixture)
    evaluator, kind = evaluator_of(hidden), fixture.object["kind"]
    verdict = evaluator.evaluate(fixture.object, fixture.group, kind, Origin(fixture.namespace))
    assert verdict.findings
    assert not [found for found in verdict.findings if HIDDEN in f"{found.message}{found.remedy}"]


def test_fixtures_have_names_to_hide() -> None:
    assert sum(count > 0 for _, count in map(with_hidden_names, INFORMED)) > 10
