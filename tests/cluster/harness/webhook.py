"""The webhook installed in a cluster as users install it: its image in pods behind a Service."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.harness import manifests, webhook_image
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.waiting import wait_for
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

# The shutdown delay gives endpoints time to disappear; tests of rollouts set it.
BASE = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings", "server": {"shutdownDelay": "0s"}}
_FACTS = {"apiVersion": "gpushare-webhook/v1", "kind": "Facts"}
_LIFETIME = timedelta(days=1)
_NOT_REACHABLE_YET = ("no endpoints available", "dial tcp", "deadline exceeded")


@contextmanager
def webhook(
    cluster: Cluster,
    *,
    settings: Object | None = None,
    facts: Object | None = None,
    replicas: int = 1,
    limits: Object | None = None,
) -> Iterator[Authority]:
    """Install the webhook with these settings and facts, and wait until it mutates pods; remove it at the end.

    Yields the authority of its certificate. `limits` are those of its container. Raises `ToolsMissingError` when the
    layers of its image have not been built.
    """
    files: dict[str, Object] = {"settings.yaml": BASE | (settings or {}), "facts.yaml": _FACTS | (facts or {})}
    authority = Authority.create("tests", datetime.now(UTC), _LIFETIME)
    leaf = authority.sign([product.HOST], datetime.now(UTC), _LIFETIME)
    signed = [
        product.secret(leaf.certificate, leaf.key),
        product.mutating(authority.bundle()),
        product.validating(authority.bundle()),
    ]
    with deployed(cluster, [*objects(files, replicas, limits), *signed]):
        yield authority


@contextmanager
def deployed(cluster: Cluster, items: list[Object]) -> Iterator[None]:
    """Install the webhook from these objects and wait until it mutates pods; remove it at the end.

    Raises `ToolsMissingError` when the layers of its image have not been built.
    """
    webhook_image.load(cluster)
    try:
        cluster.kubectl("apply", "-f", "-", manifest={"apiVersion": "v1", "kind": "List", "items": items})
        cluster.kubectl("-n", product.NAME, "rollout", "status", f"deployment/{product.NAME}", "--timeout=180s")
        wait_for("the API server to call the webhook", lambda: _mutates(cluster))
        yield
    finally:
        # Delete the configurations first: otherwise the webhook has to admit the deletion of the rest.
        for configuration in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            cluster.kubectl("delete", configuration, product.NAME, "--ignore-not-found")
        cluster.kubectl("-n", product.NAME, "delete", "deployment,service,secret,configmap", product.NAME)


def objects(files: dict[str, Object], replicas: int, limits: Object | None = None) -> list[Object]:
    """The objects of an installation, except the certificate and the configurations that trust it."""
    return [
        product.namespace(),
        product.RUNTIME_CLASS,
        product.config_map(files),
        product.service(),
        product.deployment(replicas, limits),
    ]


def _mutates(cluster: Cluster) -> bool:
    """Whether a GPU pod is mutated; it is rejected until the API server has seen the endpoints and reaches them."""
    asks = manifests.pod("asks")
    try:
        made = cluster.api.create("/api/v1/namespaces/default/pods?dryRun=All", asks)
    except ApiError as refused:
        if not any(reason in refused.message for reason in _NOT_REACHABLE_YET):
            raise
        return False
    return bool(json.dumps(made["spec"]).count("nvidia.com/gpu") > json.dumps(asks["spec"]).count("nvidia.com/gpu") + 1)
