"""What the remedy of a limit says of a template whose namespace may select nodes."""

from __future__ import annotations

import pytest

from webhook.policy.context import RequestContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import Namespace
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings

HOOK = RequestContext("team-a", is_final_hook=True, groups=())
SAID = ", or ask the administrator to set facts.namespaces if the namespace selects nodes"


@pytest.mark.parametrize(
    ("kind", "origin", "facts", "is_said"),
    [
        ("Deployment", HOOK, UNKNOWN, True),
        ("Deployment", HOOK, Facts(namespaces=(Namespace("team-a"),)), False),
        ("Deployment", RequestContext("team-a"), UNKNOWN, False),
        ("Pod", HOOK, UNKNOWN, False),
    ],
    ids=["template", "namespaces known", "offline", "pod"],
)
@pytest.mark.parametrize("amounts", [(2,), (1, 1)], ids=["container", "pod as a whole"])
def test_remedy_names_fact_about_namespaces(
    kind: str, origin: RequestContext, facts: Facts, amounts: tuple[int, ...], *, is_said: bool
) -> None:
    containers = [
        {"name": f"c{number}", "resources": {"limits": {"nvidia.com/gpu": amount}}}
        for number, amount in enumerate(amounts)
    ]
    spec = {"containers": containers}
    group, found = ("", {"spec": spec}) if kind == "Pod" else ("apps", {"spec": {"template": {"spec": spec}}})
    evaluator = Evaluator.of(Settings(), facts)
    verdict = evaluator.verdict(evaluator.pods(found, group, kind), origin)
    (finding,) = (one for one in verdict.findings if one.code in ("GPS001", "GPS002"))
    assert (SAID in finding.remedy) is is_said
