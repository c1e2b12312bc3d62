"""The policies of the API server give the verdicts and lines of the webhook, evaluated by the API server's own code."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.chart.generated_objects import SETTINGS, generated
from tests.chart.matching import request
from tests.chart.policies import Compared, Group, Object, compared
from tests.fixture import Fixture, evaluator_of, load_all
from webhook.inprocess.kinds import COVERED
from webhook.inprocess.validating import RULES
from webhook.policy.evaluate import Evaluator
from webhook.settings.load import load

CODES = {rule.code for rule in RULES}
KINDS = {(one.kind.group, one.kind.kind) for one in COVERED}
GENERATED = 500
"""Objects for each settings file."""


def _load(body: Object | None, name: str) -> Group:
    file = None if body is None else {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **body}
    configuration = load(file, lambda _path: (1, 1), name)
    return Group(configuration, Evaluator.of(configuration.settings), ())


def _of_fixture(fixture: Fixture) -> Group | None:
    """The request of a fixture; None for one that no policy sees: of another kind, or of an exempt namespace."""
    configuration = load(fixture.settings, lambda _path: (1, 1), fixture.name)
    evaluator = evaluator_of(fixture)
    is_covered = (fixture.group, fixture.object["kind"]) in KINDS and not fixture.subresource
    if not is_covered or fixture.facts or evaluator.ruleset.of(fixture.namespace).exemption is not None:
        return None
    asked = request(
        fixture.object | {"metadata": fixture.object.get("metadata") or {}},
        before=fixture.old_object if fixture.operation == "UPDATE" else None,
        groups=fixture.groups,
        namespace=fixture.namespace,
    )
    return Group(configuration, evaluator, [asked])


def _differences(found: list[Compared]) -> list[str]:
    return [f"{one.policy.suffix}: {one.got!r} is not {one.wanted!r}: {one.request}" for one in found if not one.agrees]


def test_policies_agree_with_webhook_on_fixtures() -> None:
    groups = [group for fixture in load_all() if (group := _of_fixture(fixture)) is not None]
    found = compared(groups, data_from_params=True)
    assert _differences(found) == []
    with_a_line = Counter(one.policy.code for one in found if one.got)
    assert with_a_line.keys() == CODES


def test_policies_agree_with_webhook_on_generated_objects() -> None:
    random = Random(31)  # noqa: S311 - reproducible objects, no secrets
    groups = []
    for number, body in enumerate(SETTINGS):
        group = _load(body, f"settings {number}")
        groups.append(Group(group.configuration, group.evaluator, [generated(random) for _ in range(GENERATED)]))
    found = compared(groups)
    assert _differences(found) == []
    with_a_line = Counter(one.policy.code for one in found if one.got)
    assert min(with_a_line[code] for code in CODES) >= 20
