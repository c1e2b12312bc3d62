"""The policies of the API server give the verdicts and lines of the webhook, evaluated by the API server's own code."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from tests.chart.generated_objects import SETTINGS, generated, generated_facts
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


def _of_fixtures(*, with_facts: bool) -> list[Group]:
    """The requests of the fixtures, a group for each evaluator: fixtures with the same settings and facts share it."""
    asked: dict[Evaluator, list[Object]] = {}
    groups = []
    for fixture in load_all():
        evaluator = evaluator_of(fixture)
        if with_facts != (fixture.facts is not None) or not _is_seen(fixture, evaluator):
            continue
        if evaluator not in asked:
            asked[evaluator] = []
            configuration = load(fixture.settings, lambda _path: (1, 1), fixture.name)
            groups.append(Group(configuration, evaluator, asked[evaluator], has_facts=with_facts))
        asked[evaluator].append(
            request(
                fixture.object | {"metadata": fixture.object.get("metadata") or {}},
                before=fixture.old_object if fixture.operation == "UPDATE" else None,
                groups=fixture.groups,
                namespace=fixture.namespace,
            )
        )
    return groups


def _is_seen(fixture: Fixture, evaluator: Evaluator) -> bool:
    """Whether policies see the request of a fixture: no object of another kind, and none of an exempt namespace."""
    is_covered = (fixture.group, fixture.object["kind"]) in KINDS and not fixture.subresource
    return is_covered and evaluator.ruleset.of(fixture.namespace).exemption is None


def _differences(found: list[Compared]) -> list[str]:
    return [f"{one.policy.suffix}: {one.got!r} is not {one.wanted!r}: {one.request}" for one in found if not one.agrees]


def test_policies_agree_with_webhook_on_fixtures() -> None:
    found = compared(_of_fixtures(with_facts=False), data_from_params=True)
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


WITH_FACTS: Object = {
    "limits": {"perContainer": 2, "perPod": 3, "timeSlicing": {"perContainer": 1}, "fromDevicePlugin": True},
    "resources": SETTINGS[1]["resources"],
    "severities": {"GPS009": "deny", "GPS015": "deny"},
}
CLUSTERS, PER_CLUSTER = 60, 20
GUARDED = {rule.code for rule in RULES if rule.if_all_share is not None}
_OF_WHOLE_CARDS = re.compile(
    r"; no node (?:known to have|with) whole cards could take the pod(?: \([^)]*\))?"
    r"|, or, if the cluster has whole cards, require them by node affinity: [^;]*"
)
"""What a remedy says about whole cards, which a policy leaves out where no GPU node has any."""


def _of_cluster(random: Random) -> Group:
    group = _load(WITH_FACTS, "settings with facts")
    evaluator = Evaluator.of(group.configuration.settings, generated_facts(random))
    return Group(group.configuration, evaluator, [generated(random) for _ in range(PER_CLUSTER)], has_facts=True)


def test_policies_deny_fixtures_with_facts_only_where_webhook_does() -> None:
    found = compared(_of_fixtures(with_facts=True), data_from_params=True)
    assert _wrong(found) == []
    assert sum(bool(one.got) for one in found) >= 5


def _wrong(found: list[Compared]) -> list[str]:
    """The denials of policies that the webhook with the same facts does not make, or makes with another line."""
    return [
        f"{one.policy.suffix}: {one.got!r} is not in {one.lines!r}: {one.request}"
        for one in found
        if one.got and one.got not in [_OF_WHOLE_CARDS.sub("", line) for line in one.lines]
    ]


def test_policies_deny_with_facts_only_what_webhook_denies() -> None:
    random = Random(32)  # noqa: S311 - reproducible objects, no secrets
    found = compared([_of_cluster(random) for _ in range(CLUSTERS)])
    assert _wrong(found) == []
    denied = Counter(one.policy.code for one in found if one.got)
    assert min(denied[code] for code in GUARDED) >= 5, denied
    assert sum(not one.got for one in found if one.wanted) >= 20  # facts leave these to the webhook
