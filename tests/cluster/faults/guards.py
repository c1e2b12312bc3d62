"""Admission that refuses pods in namespaces with a label: our webhook, another one, and one that is down."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.hooks import MUTATING, local_webhook_process
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.standin import deny, stand_in
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

GUARDED, CALLED, ORPHANED = ({"admission": kind} for kind in ("ours", "other", "down"))
_PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
_NOBODY_LISTENS = 9


@contextmanager
def guards(cluster: Cluster) -> Iterator[None]:
    """Put all of them in force, and wait until each refuses pods."""
    with (
        local_webhook_process(cluster) as ours,
        stand_in(cluster.place, lambda review: deny(review, "the pod names no cost centre")) as other,
    ):
        entries = product.mutating(b"")["webhooks"]
        _configure(
            cluster, product.NAME, [{**one, "clientConfig": ours.client_config(one)} for one in entries], GUARDED
        )
        entry: Object = {
            "name": "costs.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": other.client_config(),
            "rules": _PODS,
        }
        _configure(cluster, "costs", [entry], CALLED)
        nowhere = f"https://{cluster.place.address}:{_NOBODY_LISTENS}/"
        down = {**entry, "name": "down.example.com", "clientConfig": {**entry["clientConfig"], "url": nowhere}}
        _configure(cluster, "down", [down], ORPHANED)
        for label in (GUARDED, CALLED, ORPHANED):
            _wait_in_force(cluster, label)
        yield


def _configure(cluster: Cluster, name: str, entries: list[Object], label: dict[str, str]) -> None:
    selected = [{**one, "namespaceSelector": {"matchLabels": label}} for one in entries]
    cluster.api.create(MUTATING, {"metadata": {"name": name}, "webhooks": selected})


def _wait_in_force(cluster: Cluster, label: dict[str, str]) -> None:
    """Wait until a pod with two GPUs is refused in a namespace with the label."""
    name = f"guarded-{label['admission']}"
    path = cluster.api.create_namespace(name, label)

    def is_refused() -> bool:
        try:
            cluster.api.create(f"{path}/pods?dryRun=All", pod("probe", container(gpus=2)))
        except ApiError as refused:
            return label != GUARDED or "GPS001" in refused.message
        return False

    wait_for(f"the admission of {name}", is_refused)
    cluster.api.delete(path)
