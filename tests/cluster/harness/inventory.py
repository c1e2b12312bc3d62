"""The objects in a cluster, and those that a test left there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from tests.cluster.harness.cluster import ControlPlaneOnly

_POLICIES = "/apis/admissionregistration.k8s.io/v1"
_DECIDING = (
    MUTATING,
    VALIDATING,
    f"{_POLICIES}/mutatingadmissionpolicies",
    f"{_POLICIES}/validatingadmissionpolicies",
    "/apis/node.k8s.io/v1/runtimeclasses",
)


def deciding(running: ControlPlaneOnly) -> set[str]:
    """The names of the objects that decide about every pod: webhook configurations, policies and runtime classes."""
    return {one["metadata"]["name"] for path in _DECIDING for one in running.api.items(path)}


def inventory(cluster: ControlPlaneOnly) -> set[str]:
    """Every object of the cluster, as `kind/namespace/name`, except events and leases, which come and go."""
    kinds = cluster.kubectl("api-resources", "--verbs=list,delete", "--output=name").split()
    lasting = [kind for kind in kinds if not kind.startswith(("events", "leases", "endpoints"))]
    columns = "custom-columns=:kind,:metadata.namespace,:metadata.name"
    rows = cluster.kubectl("get", ",".join(lasting), "--all-namespaces", "--no-headers", f"--output={columns}")
    return {"/".join(row.split()) for row in rows.splitlines()}


def wait_left(cluster: ControlPlaneOnly, before: set[str], kept: set[str]) -> None:
    """Wait until the cluster has only the objects of `before` and `kept`.

    Owned objects are collected after their owner. Objects of a kind that a test defined are collected only after the
    collector has discovered the kinds again, which it does every 30 seconds.
    """
    unexpected: set[str] = set()

    def as_expected() -> bool:
        nonlocal unexpected
        unexpected = (inventory(cluster) - before) ^ kept
        return not unexpected

    try:
        wait_for("nothing else to be left", as_expected, seconds=120, every=1)
    except TimeoutError as late:
        raise TimeoutError(f"{late}; left too much, or missing: {sorted(unexpected)}") from None
