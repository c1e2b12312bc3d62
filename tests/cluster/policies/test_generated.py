"""Generated pods: the policies make the same pods as the webhook, and deny the same."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.cluster.policies.comparison import Decided, differences, report
from tests.cluster.policies.generated import varied
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.sides import HOOKED, POLICED, STRICT
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.policies.sides import Sides

PODS = 300
SEEDS = tuple(range(20310, 20317))


@pytest.fixture(scope="module")
def decided(both: Sides, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decided]:
    objects = exported(tmp_path_factory.mktemp("policies"), None)
    both.evaluator = Evaluator.of(replace(Settings(), deny_in_mutate=False))
    with installed(both.running, objects):
        yield Decided.by(objects)


@pytest.mark.exhaustive(every=len(SEEDS))
@pytest.mark.parametrize("seed", SEEDS)
def test_generated_pods_get_same_answer(both: Sides, decided: Decided, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - not for secrets
    wrong: dict[str, list[str]] = {}
    seen = {"denied": 0, "changed": 0}
    for number in range(PODS):
        made = varied(random, f"generated-{number}")
        level = random.choice(("", "", STRICT))
        by_policies, by_webhook = (both.create(made, space + level) for space in (POLICED, HOOKED))
        if found := differences(by_policies, by_webhook, decided):
            wrong[f"{made}"] = found
        seen["denied"] += bool(by_policies.lines)
        seen["changed"] += "gpushare-webhook/injected" in str(by_policies.made)
    assert not wrong, f"{len(wrong)} differ\n{report(dict(list(wrong.items())[:5]))}"
    assert min(seen.values()) > PODS / 20, f"the pods show too little: {seen}"
