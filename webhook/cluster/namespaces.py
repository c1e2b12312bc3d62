"""The namespaces of a cluster and their labels as facts."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from webhook.cluster.api_server import IDENTIFIED, ApiServer, Metadata
from webhook.cluster.objects import NAMESPACE
from webhook.cluster.pool import Pool
from webhook.cluster.watch import Collection
from webhook.policy.placement.cluster_objects import Namespace

_POD_SECURITY: Final = "pod-security.kubernetes.io/"
_MOST_LABELS: Final = 64
"""Other labels of one namespace that are kept. The settings may select by any of them after a reload."""


_SELECTORS: Final = ("scheduler.alpha.kubernetes.io/node-selector", "openshift.io/node-selector")
"""The annotations by which a namespace adds a node selector to its pods: that of the admission plugin PodNodeSelector,
and that of OpenShift."""

_LONGEST: Final = 1024
"""Characters of such an annotation that are read."""


def reader(api: ApiServer) -> Collection[Namespace]:
    """Read the namespaces."""
    pool = Pool()

    def namespace(found: Raw) -> tuple[str, Namespace]:
        metadata = IDENTIFIED.decode(found).metadata
        labels = metadata.labels or {}
        if len(labels) > _MOST_LABELS:
            labels = _fewer(labels)
        shared = {pool.shared(key): pool.shared(value) for key, value in labels.items()}
        return metadata.name, Namespace(metadata.name, shared, _selector(metadata))

    return Collection(api, (NAMESPACE,), namespace, parse_metadata=namespace)


def selecting(found: Raw) -> tuple[str, Namespace | None]:
    """Read a namespace that adds a node selector to its pods; None for another one. Raises msgspec.MsgspecError."""
    metadata = IDENTIFIED.decode(found).metadata
    selector = _selector(metadata)
    return metadata.name, Namespace(metadata.name, metadata.labels or {}, selector) if selector else None


def _selector(metadata: Metadata) -> dict[str, str]:
    written = next((text for key in _SELECTORS if (text := (metadata.annotations or {}).get(key))), "")
    if len(written) > _LONGEST:
        return {}
    pairs = (one.partition("=") for one in written.split(","))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}


def _fewer(labels: dict[str, str]) -> dict[str, str]:
    """The labels of Pod Security, and the first of the others by name."""
    kept = [key for key in labels if key.startswith(_POD_SECURITY)]
    others = sorted(key for key in labels if not key.startswith(_POD_SECURITY))
    return {key: labels[key] for key in (*kept[:_MOST_LABELS], *others[:_MOST_LABELS])}
