"""GPS026 has a finding about each annotation of KAI's fractioning operator that KAI rejects, in any combination."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Requests, Settings

AMOUNTS = {"gpu-memory.request": "2Gi", "gpu-memory.limit": "4Gi", "gpu-compute.mode": "sm-sharing", "other": "1"}
KEYS = [(container, setting) for container, setting in product(("a", "b", "missing", ""), AMOUNTS)]


@pytest.mark.parametrize("pair", list(combinations(KEYS, 2)), ids=str)
def test_second_or_unknown_container_has_finding(pair: tuple[tuple[str, str], ...]) -> None:
    annotations = {f"nvidia.com/container.{container}.{setting}": AMOUNTS[setting] for container, setting in pair}
    containers = [{"name": "a"}, {"name": "b"}]
    pod = {
        "metadata": {"annotations": annotations},
        "spec": {"schedulerName": "kai-scheduler", "containers": containers},
    }
    settings = Settings(requests=Requests(fractions=True))
    found = OfflineEvaluator.of(settings).evaluate(pod, "", "Pod", RequestContext("default")).findings
    target = next((container for container, setting in pair if "memory" in setting), None)
    wrong = [
        f"nvidia.com/container.{container}.{setting}"
        for container, setting in pair
        if setting == "other" or container not in ("a", "b") or target not in (container, None)
    ]
    assert [one.path[-1] for one in found if one.code == "GPS026"] == wrong
