"""What of a node decides where a pod can land and how the node shares its cards: its bounds keep these entries first.

A kubelet chooses most labels of its node. It may not change those of `node-restriction.kubernetes.io/`, which isolate
workloads (kubernetes/kubernetes plugin/pkg/admission/noderestriction), so it must not push them out either.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.policy.placement.certain_labels import RESTRICTED, kind
from webhook.policy.placement.node_classes import DISCOVERED
from webhook.policy.placement.plugin_configs import CONFIG_LABEL

if TYPE_CHECKING:
    from webhook.policy.settings.settings import Settings

_HOSTNAME: Final = "kubernetes.io/hostname"

_MOST_CONFIGURED: Final = 64
"""Labels that settings name, at most: a kubelet can write all of them, and other labels need room as well."""


class Decisive(NamedTuple):
    """The kinds of labels and the names of resources that are kept first, in this order."""

    labels: tuple[str, ...] = (RESTRICTED, _HOSTNAME, CONFIG_LABEL, *sorted(DISCOVERED))
    resources: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: Settings) -> Decisive:
        """Those of these settings: labels of the classes come before those of node groups."""
        placement, always = settings.placement, Decisive().labels
        sources: tuple[Mapping[str, str], ...] = (
            dict(sorted({**placement.mps_labels, **placement.time_slicing_labels}.items())),
            dict(sorted((key, "") for group in placement.node_groups for key in group.labels)),
        )
        configured = dict.fromkeys(map(kind, chain.from_iterable(sources)))
        new = [key for key in configured if key not in always]
        return cls((*always, *new[:_MOST_CONFIGURED]), frozenset(one.name for one in settings.resources))


ALWAYS: Final = Decisive()
"""What is decisive whatever the settings."""
