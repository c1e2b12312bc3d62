"""The namespaces of a cluster and their labels as facts."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import ApiServer, LabelledMetadata, Rule
from webhook.cluster.pool import Pool
from webhook.cluster.readers import Collection
from webhook.policy.placement.cluster_objects import Namespace

_RULE: Final = Rule("", "namespaces", ("list", "watch"))

_POD_SECURITY: Final = "pod-security.kubernetes.io/"
_MOST_LABELS: Final = 64
"""Other labels of one namespace that are kept. The settings may select by any of them after a reload."""


class _Namespace(Struct):
    metadata: LabelledMetadata


_NAMESPACES: Final = msgspec.json.Decoder(_Namespace)


def reader(api: ApiServer) -> Collection[Namespace]:
    """Read the namespaces."""
    pool = Pool()

    def namespace(found: Raw) -> tuple[str, Namespace]:
        metadata = _NAMESPACES.decode(found).metadata
        labels = metadata.labels or {}
        if len(labels) > _MOST_LABELS:
            labels = _fewer(labels)
        shared = {pool.shared(key): pool.shared(value) for key, value in labels.items()}
        return metadata.name, Namespace(metadata.name, shared)

    return Collection(api, ("/api/v1/namespaces",), namespace, _RULE)


def _fewer(labels: dict[str, str]) -> dict[str, str]:
    """The labels of Pod Security, and the first of the others by name."""
    kept = [key for key in labels if key.startswith(_POD_SECURITY)]
    others = sorted(key for key in labels if not key.startswith(_POD_SECURITY))
    return {key: labels[key] for key in (*kept[:_MOST_LABELS], *others[:_MOST_LABELS])}
