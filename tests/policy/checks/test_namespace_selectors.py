"""Namespaces that select the nodes of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Namespace, Node
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Finding

GPU = "nvidia.com/gpu"
SHARING = Node("n1", {f"{GPU}.sharing-strategy": "mps", f"{GPU}.replicas": "4", "pool": "a"}, resources={GPU: 4})
HOOK = RequestContext("team-a", is_final_hook=True, groups=())
OFFLINE = RequestContext("team-a")


def findings(kind: str, origin: RequestContext, amounts: tuple[int, ...], facts: Facts, **spec: Any) -> list[Finding]:
    """The findings about a pod, or a template, with a container for each amount."""
    containers = [{"name": f"c{number}", "resources": {"limits": {GPU: one}}} for number, one in enumerate(amounts)]
    own = {"containers": containers, **spec}
    group, found = ("", {"spec": own}) if kind == "Pod" else ("apps", {"spec": {"template": {"spec": own}}})
    evaluator = Evaluator.of(Settings(), facts)
    return list(evaluator.verdict(evaluator.pods(found, group, kind), origin).findings)


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
