"""Changes to an installed webhook as its users make them: Secret, ConfigMap, webhook configurations."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.servers import ServerPod, server_pods
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from webhook.pki import Authority

_CORE = f"/api/v1/namespaces/{product.NAME}"


def replace_leaf(cluster: Cluster, authority: Authority) -> None:
    """Put a new leaf of an authority into the Secret."""
    leaf = authority.sign([product.HOST], datetime.now(UTC), timedelta(days=1))
    data = product.secret(leaf.certificate, leaf.key)["data"]
    cluster.api.patch(f"{_CORE}/secrets/{product.NAME}", {"data": data})


def replace_settings(cluster: Cluster, settings: Object) -> None:
    """Put other settings into the ConfigMap."""
    data = product.config_map({"settings.yaml": settings})["data"]
    cluster.api.patch(f"{_CORE}/configmaps/{product.NAME}", {"data": data})


def trust(cluster: Cluster, *authorities: Authority) -> None:
    """Put these authorities, and no others, into every `caBundle`."""
    bundle = base64.b64encode(b"".join(one.bundle() for one in authorities)).decode()
    for configurations in (MUTATING, VALIDATING):
        path = f"{configurations}/{product.NAME}"
        entries = range(len(cluster.api.get(path)["webhooks"]))
        operations = [
            {"op": "replace", "path": f"/webhooks/{entry}/clientConfig/caBundle", "value": bundle} for entry in entries
        ]
        cluster.api.patch(path, operations, form="json")


def wait_in_force(cluster: Cluster, what: str, holds: Callable[[ServerPod], bool]) -> None:
    """Wait until a change is in force on every server.

    The kubelet would carry it into a pod's volume with its next look at the pod, a minute later. It looks at once when
    the pod's annotations change; again and again, for it may not know yet of the new Secret or ConfigMap.
    """
    looks = iter(range(1000))

    def reached() -> bool:
        cluster.kubectl("-n", product.NAME, "annotate", "pod", "--all", "--overwrite", f"looked={next(looks)}")
        return all(holds(server) for server in server_pods(cluster))

    wait_for(what, reached, every=1)
