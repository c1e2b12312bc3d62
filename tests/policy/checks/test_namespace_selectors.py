"""Namespaces that select the nodes of their pods: the remedy of a limit, and the nearest node."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Namespace, Node
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.policy.verdict import Finding

GPU = "nvidia.com/gpu"
SHARING = Node("n1", {f"{GPU}.sharing-strategy": "mps", f"{GPU}.replicas": "4", "pool": "a"}, resources={GPU: 4})
HOOK = RequestContext("team-a", is_final_hook=True, groups=())
OFFLINE = RequestContext("team-a")
SAID = ", or ask the administrator to set facts.namespaces if the namespace selects nodes"
DEFAULT = Settings()
READING = Settings(facts=FactsSettings(namespaces=True))


def findings(
    kind: str,
    origin: RequestContext,
    amounts: tuple[int, ...],
    facts: Facts = UNKNOWN,
    settings: Settings = DEFAULT,
    **spec: Any,
) -> list[Finding]:
    """The findings about a pod, or a template, with a container for each amount."""
    containers = [{"name": f"c{number}", "resources": {"limits": {GPU: one}}} for number, one in enumerate(amounts)]
    own = {"containers": containers, **spec}
    group, found = ("", {"spec": own}) if kind == "Pod" else ("apps", {"spec": {"template": {"spec": own}}})
    evaluator = Evaluator.of(settings, facts)
    return list(evaluator.verdict(evaluator.pods(found, group, kind), origin).findings)


@pytest.mark.parametrize(
    ("kind", "origin", "facts", "settings", "count"),
    [
        ("Deployment", HOOK, UNKNOWN, DEFAULT, 1),
        ("Deployment", HOOK, UNKNOWN, READING, 0),
        ("Deployment", HOOK, Facts(nodes=(SHARING,)), DEFAULT, 0),
        ("Deployment", HOOK._replace(namespace=""), UNKNOWN, DEFAULT, 0),
        ("Deployment", OFFLINE, UNKNOWN, DEFAULT, 0),
        ("Pod", HOOK, UNKNOWN, DEFAULT, 0),
    ],
    ids=["template", "namespaces are read", "no node helps", "no namespace", "offline", "pod"],
)
@pytest.mark.parametrize("amounts", [(2, 2), (1, 1)], ids=["containers", "pod as a whole"])
def test_remedy_names_fact_about_namespaces_once(
    kind: str, origin: RequestContext, facts: Facts, settings: Settings, count: int, amounts: tuple[int, ...]
) -> None:
    code = "GPS001" if amounts == (2, 2) else "GPS002"
    found = [one for one in findings(kind, origin, amounts, facts, settings) if one.code == code]
    assert [SAID in one.remedy for one in found].count(True) == count
    assert found


@pytest.mark.parametrize(("kind", "origin"), [("Deployment", HOOK), ("Deployment", OFFLINE), ("Pod", OFFLINE)])
@pytest.mark.parametrize("spec", [{}, {"nodeSelector": {f"{GPU}.sharing-strategy": "mps"}}], ids=["none", "own"])
def test_node_outside_selector_of_namespace_is_reported(kind: str, origin: RequestContext, spec: Any) -> None:
    facts = Facts(nodes=(SHARING,), namespaces=(Namespace("team-a", node_selector={"pool": "b"}),))
    (finding,) = (one for one in findings(kind, origin, (1,), facts, **spec) if one.code == "GPS014")
    assert finding.message == 'the namespace requires "pool=b", but the nearest node, "n1", has "a"'
    assert finding.remedy.startswith("use another namespace")


def test_selector_of_pod_overrides_that_of_namespace() -> None:
    facts = Facts(nodes=(SHARING,), namespaces=(Namespace("team-a", node_selector={"pool": "b"}),))
    assert [
        one for one in findings("Pod", OFFLINE, (1,), facts, nodeSelector={"pool": "a"}) if one.code == "GPS014"
    ] == []
