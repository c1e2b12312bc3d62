"""All replicas of the webhook are dead: the policies decide with the values that it wrote last."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.chart.render import FULLNAME, only
from tests.cluster.harness.chart_hooks import CONFIGURATIONS
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.standin import allow, stand_in
from tests.cluster.harness.waiting import wait_for
from tests.cluster.policies.comparison import Decided, differences
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.release import INSTALLED_AS, parameters_object
from tests.cluster.policies.sides import HOOKED, POLICED
from webhook.policy.evaluate import Evaluator
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.policies.sides import Sides

FACTS = {"runtimeClasses": True, "nodes": True}
SETTINGS = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "facts": FACTS}
"""The webhook reads the cluster's runtime classes and nodes: what policies deny and inject depends on parameters."""

PARAMETERS = {"runtimeClass": "inject", "mode": "enforce", "sharing": "mps", "limitMps": "1"}


@pytest.fixture(scope="module")
def decided(both: Sides, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decided]:
    objects = exported(tmp_path_factory.mktemp("policies"), SETTINGS, *INSTALLED_AS)
    both.evaluator = Evaluator.of(replace(Settings(), deny_in_mutate=False))
    with parameters_object(both.running, PARAMETERS), _dead_webhook(both.running), installed(both.running, objects):
        yield Decided.by(objects)


@contextmanager
def _dead_webhook(running: ControlPlaneOnly) -> Iterator[None]:
    """The configurations of the chart, whose address has no server: the API server ignores each failed call."""
    ignoring = {"failurePolicy": "Ignore"}
    values = {"webhooks": {"mutating": ignoring, "validating": ignoring}}
    with stand_in(running.place, allow) as gone:
        pass
    try:
        for path, kind in CONFIGURATIONS.items():
            rendered = only(kind, values)
            named = {
                "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [POLICED]}]
            }
            entries = [
                {**entry, "clientConfig": gone.client_config(), "namespaceSelector": named}
                for entry in rendered["webhooks"]
            ]
            running.api.create(path, {**rendered, "webhooks": entries})
        yield
    finally:
        for path in CONFIGURATIONS:
            running.api.delete(f"{path}/{FULLNAME}")


def _fail_open(running: ControlPlaneOnly) -> int:
    """Failed calls that the API server ignored since it started, by its own count."""
    _, _, text = running.api.request("GET", "/metrics")
    name = "apiserver_admission_webhook_fail_open_count{"
    return sum(int(float(line.rpartition(" ")[2])) for line in text.decode().splitlines() if line.startswith(name))


def test_calls_fail_and_are_ignored(both: Sides, decided: Decided) -> None:
    before = _fail_open(both.running)

    def failed() -> bool:
        both.create(pod("asks"), POLICED)
        return _fail_open(both.running) > before

    wait_for("a failed call", failed)


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize("creates", [10, 100])
def test_nothing_over_limit_is_created(both: Sides, decided: Decided, creates: int) -> None:
    over = [pod(f"storm-{number}", container(gpus=2 + number % 7)) for number in range(creates)]
    over += [deployment(f"storm-{number}", container(gpus=2)) for number in range(creates // 10)]
    answers = [both.create(one, POLICED, dry=False) for one in over]
    assert [one.message for one in answers if "GPS001" not in one.lines] == []


def test_pods_are_changed_as_by_the_webhook(both: Sides, decided: Decided) -> None:
    for made in (pod("one"), pod("two", container("first"), container("second", gpus=0))):
        one = {**made, "spec": {**made["spec"], "automountServiceAccountToken": False}}
        by_policies, by_webhook = both.create(one, POLICED), both.create(one, HOOKED)
        assert by_policies.made["spec"].get("runtimeClassName") == "nvidia", by_policies.made
        assert differences(by_policies, by_webhook, decided) == []


def test_other_objects_are_unhindered(both: Sides, decided: Decided) -> None:
    plain = pod("plain", container(gpus=0), automountServiceAccountToken=False)
    answer = both.create(plain, POLICED)
    assert (answer.status, answer.warnings) == (201, ())
    assert answer.made == both.create(plain, "default").made
    assert both.create(deployment("plain", container(gpus=0)), POLICED).status == 201
