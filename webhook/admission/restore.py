"""Tolerations of ours that an update would drop.

Tolerations are atomic in `kubectl apply`. A second apply of a bare pod drops those that we added, and the API server
refuses the pod, since tolerations of a pod can only grow. So what `oldObject` has of ours is put back.
"""

from __future__ import annotations

from collections.abc import Set

from webhook.policy.context import Origin, PodContext
from webhook.policy.evaluate import is_left_alone
from webhook.policy.pods.pod import Pod
from webhook.policy.rules import Ruleset
from webhook.policy.verdict import Append, Edit


def lost_tolerations(pod: Pod, before: Pod, origin: Origin, ruleset: Ruleset) -> list[Edit]:
    """The edits that put our tolerations back; nothing else of an update is touched."""
    case = PodContext(pod, origin, ruleset.of(origin.namespace), ruleset.facts)
    if is_left_alone(case):
        return []
    keys = {ours["key"] for ours in case.our_tolerations}
    held, had = _among(pod, keys), _among(before, keys)
    return [
        Append((*pod.spec_path, "tolerations"), ours)
        for ours in case.our_tolerations
        if frozenset(ours.items()) in had and frozenset(ours.items()) not in held
    ]


def _among(pod: Pod, keys: Set[str]) -> set[frozenset[tuple[str, object]]]:
    """The pod's tolerations of these keys. A member that is no scalar stands in no toleration of the settings."""
    return {
        frozenset(raw.items())
        for raw in pod.elements("tolerations")
        if isinstance(key := raw.get("key"), str)
        and key in keys
        and not any(isinstance(member, dict | list) for member in raw.values())
    }
