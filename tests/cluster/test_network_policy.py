"""What the stand-in for a network plugin blocks. Needs no cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.network_policy import blocked

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object

# The stand-in serves the exhaustive tests of alerts.
pytestmark = pytest.mark.exhaustive
NODE = "10.99.0.1"
POD = {
    "metadata": {"labels": {"app": "a", "tier": "b"}},
    "spec": {
        "containers": [{"ports": [{"name": "https", "containerPort": 8443}, {"name": "health", "containerPort": 80}]}]
    },
    "status": {"podIP": "10.88.0.2"},
}
REVIEWS = {("10.88.0.2", 8443)}


def _policy(*ingress: Object, labels: dict[str, str] | None = None, types: tuple[str, ...] = ("Ingress",)) -> Object:
    return {"spec": {"podSelector": {"matchLabels": labels or {}}, "policyTypes": [*types], "ingress": [*ingress]}}


def _from(*networks: str) -> Object:
    return {"from": [{"ipBlock": {"cidr": network}} for network in networks]}


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        pytest.param([], set(), id="no-policy"),
        pytest.param([_policy()], REVIEWS, id="deny-all"),
        pytest.param([_policy(labels={"app": "other"})], set(), id="other-pods"),
        pytest.param([_policy(labels={"app": "a"})], REVIEWS, id="pods-by-label"),
        pytest.param([_policy(types=("Egress",))], set(), id="egress-only"),
        pytest.param([_policy({})], set(), id="any-source-and-port"),
        pytest.param([_policy({"ports": [{"port": "https"}]})], set(), id="port-by-name"),
        pytest.param([_policy({"ports": [{"port": 8443}]})], set(), id="port-by-number"),
        pytest.param([_policy({"ports": [{"port": "health"}]})], REVIEWS, id="other-port"),
        pytest.param([_policy(_from("203.0.113.0/24"))], REVIEWS, id="other-network"),
        pytest.param([_policy(_from("203.0.113.0/24", "10.99.0.0/24"))], set(), id="network-of-node"),
        pytest.param([_policy({"from": [{"podSelector": {}}]})], REVIEWS, id="pods-only"),
        pytest.param([_policy(), _policy(_from("10.99.0.1/32"))], set(), id="rules-of-all-policies-add-up"),
    ],
)
def test_blocked_ports(policies: list[Object], expected: set[tuple[str, int]]) -> None:
    assert blocked(policies, POD, NODE) == expected
