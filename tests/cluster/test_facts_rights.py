"""The rights of a webhook process that reads facts, with one verb missing at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness import audit
from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.rights import ACCOUNT, RULES, grant
from tests.cluster.harness.selection import parameters
from tests.cluster.harness.waiting import wait_for
from tests.cluster.sources import CHANGES, SETTINGS, Sources, two

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object

MISSING = [(resource, verb) for resource, rule in RULES.items() for verb in rule["verbs"]]
EACH_VERB = [("runtimeclasses", "list"), ("nodes", "watch"), ("configmaps", "get")]


@pytest.mark.parametrize("missing", parameters(MISSING, EACH_VERB, "-".join))
def test_missing_verb_is_named_once_and_granted_without_restart(
    fact_sources: Sources, missing: tuple[str, str]
) -> None:
    resource, verb = missing
    change = next(change for change in CHANGES.values() if change.resource == resource)
    before = len(_refused(fact_sources))
    grant(fact_sources.running, without=(resource, verb))
    try:
        with reviewer(fact_sources.running, SETTINGS, fact_sources.kubeconfig) as server:
            wait_for("two forbidden requests", lambda: len(_refused(fact_sources)) >= before + 2)
            assert server.health("/livez")[0] == 200
            assert not server.pod(two("mixed")).allowed
            (named,) = _missing(server, verb, resource)
            assert _rule(resource) in str(named)
            grant(fact_sources.running)
            with change.make(fact_sources.running.api):
                wait_for("the facts", lambda: change.shown(server))
            wait_for("the facts to follow", lambda: not change.shown(server))
            assert _missing(server, verb, resource) == [named]
    finally:
        grant(fact_sources.running)


def _refused(fact_sources: Sources) -> list[audit.Request]:
    return [asked for asked in audit.requests(fact_sources.running.control, "default", ACCOUNT) if asked.refused]


def _missing(server: Reviewer, verb: str, resource: str) -> list[Object]:
    """The entries of the log that name the missing right."""
    return [entry for entry in server.log() if f"not allowed to {verb} {resource}" in str(entry)]


def _rule(resource: str) -> str:
    """The rule that a role lacks, as it can be pasted."""
    rule = RULES[resource]
    (group,), (name,) = rule["apiGroups"], rule["resources"]
    names = f", resourceNames: [{rule['resourceNames'][0]}]" if "resourceNames" in rule else ""
    return f'{{apiGroups: ["{group}"], resources: [{name}]{names}, verbs: [{", ".join(rule["verbs"])}]}}'
