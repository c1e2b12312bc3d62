"""Which labels of an incomplete node are certain: on the node if they are listed, and missing if they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import Node

RESTRICTED: Final = "node-restriction.kubernetes.io/"
"""The kind of all labels that a kubelet may not change."""

_RESTRICTED_NAMESPACE: Final = "." + RESTRICTED


def kind(key: str) -> str:
    """What a label is certain by: the key, or RESTRICTED for all labels of that domain and its subdomains."""
    if RESTRICTED not in key:
        return key
    namespace, _, _ = key.partition("/")
    return RESTRICTED if f".{namespace}/".endswith(_RESTRICTED_NAMESPACE) else key


def may_have(node: Node, key: str) -> bool:
    """Whether a node may have a label that is not listed."""
    return "labels" in node.incomplete and key not in node.labels and kind(key) not in node.certain_labels
