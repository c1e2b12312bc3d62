"""Remedies that the other tests do not reach, and the rule that they go through."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.cluster_objects import GPU, pod
from tests.diagnose.why.remedies import helps
from tests.diagnose.why.site import PRESENT, a_node, answers, waiting
from webhook.diagnose.finding import Advice, Finding, Remedy
from webhook.diagnose.why.case import Case, Reference, Why
from webhook.policy.messages import Command
from webhook.policy.settings.settings import Settings

OF = Reference("Pod", "team-a", "main")


@pytest.mark.parametrize(
    ("remedy", "spec"),
    [
        ("set runtimeClassName: nvidia: kubectl edit", {"runtimeClassName": "nvidia"}),
        (f"ask for {GPU}: 1, and more", {}),
        (f"ask for {GPU}: kubectl edit pod", {}),
        ("ask for at most 4: kubectl edit pod", {}),
        ("remove NVIDIA_VISIBLE_DEVICES: kubectl edit pod", {}),
        ('tolerate {key: "team", effect: NoSchedule}, and use it', {"tolerations": [{"operator": "Exists"}]}),
        ("set replicas: kubectl scale deployment/web --replicas=1", {}),
        ("run kubectl gpushare doctor", {}),
        ("wait, and run it again", {}),
        ("nothing", {}),
        ("", {}),
    ],
)
def test_rule_finds_remedies_that_do_not_help(remedy: Advice, spec: dict[str, Any]) -> None:
    found = pod("main", spec=spec)
    case = Case(OF, found, Settings(), found)
    with pytest.raises(AssertionError):
        helps(case, Why(OF, "Pending", [Finding("any", "error", "pod main", "it waits", (), Remedy(remedy))]))


def test_rule_accepts_a_command() -> None:
    found = pod("main")
    answer = Why(
        OF, "Pending", [Finding("any", "error", "pod main", "it waits", (), Remedy(Command("kubectl", "get", "pods")))]
    )
    assert helps(Case(OF, found, Settings(), found), answer) is answer


def test_scheduler_tries_again_and_a_command_shows_it() -> None:
    (cause,) = answers(waiting(), a_node(labels=PRESENT, gpus=2), pod("a", node="gpu-1"))
    assert str(cause.remedy).endswith("which this shows: kubectl get pod main -n team-a")
