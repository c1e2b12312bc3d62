"""The tables of causes, and the templates of their remedies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.diagnose.cluster_objects import Object
from tests.diagnose.why.recorded import bound
from tests.diagnose.why.site import answers
from webhook.diagnose.finding import filled
from webhook.diagnose.why import crashing, creation, running, scheduling, starting
from webhook.diagnose.why.case import Case, Reference, Row
from webhook.policy.settings.settings import Settings

_ADDED: dict[str, Any] = {"container": "main", "said": "any", "runtimeclass": "nvidia", "what": "pod"}
"""The names that callers of a table add to those of its words."""


@pytest.mark.parametrize(
    "rows",
    [
        creation.REFUSALS,
        crashing.KNOWN,
        running.ENDED,
        scheduling.REASONS,
        starting.BEFORE,
        starting.CONFIGURED,
        starting.REJECTIONS,
        starting.STARTS,
    ],
)
def test_each_row_can_be_filled(rows: Sequence[Row]) -> None:
    pod = bound()
    case = Case(Reference("Pod", "team-a", "main"), pod, Settings(), pod)
    for one in rows:
        names = {**_ADDED, **dict.fromkeys(re.compile(one.words).groupindex, "any")}
        assert one.summary.format(node="mps-1", **names)
        remedy = one.remedy if isinstance(one.remedy, str) else one.remedy(case, "main")
        if isinstance(remedy, str):
            commands = len(case.remedy(remedy, **names).as_data()["commands"])
            assert commands >= remedy.count("`") // 2 + remedy.count("{edit}"), one


def test_template_quotes_what_a_cluster_says() -> None:
    def find(name: str) -> str:
        return {"node": "$(reboot)", "pod": "`{edit}`"}[name]

    remedy = filled("look at {pod}: `kubectl describe node {node}`", find)
    assert str(remedy) == "look at NAME: no command, since a name for it is not legal"
    assert remedy.doubts == ['no legal pod name: "`{edit}`"', 'no legal node name: "$(reboot)"']


def test_braces_in_a_message_are_no_names() -> None:
    message = 'pods "x" is forbidden: pod rejected: RuntimeClass "{edit}`id`" not found'
    refused: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "main", "namespace": "team-a"},
        "spec": {"template": {"spec": {"runtimeClassName": "own"}}},
        "status": {"conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]},
    }
    (cause,) = answers(refused, kind="ReplicaSet")
    assert cause.cause == "the RuntimeClass {edit}`id` does not exist"
    edit = ["kubectl", "edit", "replicaset/main", "-n", "team-a"]
    assert cause.as_data()["commands"] == [edit]
