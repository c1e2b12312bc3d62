"""Injected tolerations that an update would drop.

Tolerations are atomic in `kubectl apply`: a second apply of a bare pod drops the injected ones, and the API server
rejects the update, because the tolerations of a pod can only grow. So the webhook restores the injected tolerations
that `oldObject` has.
"""

from __future__ import annotations

from collections.abc import Set

from webhook.policy.context import Origin
from webhook.policy.evaluate import Evaluator
from webhook.policy.exemption import exemption
from webhook.policy.pods.pod import Pod
from webhook.policy.verdict import Append, Edit
from webhook.policy.workloads.extracted import ExtractedPod


def lost_tolerations(updated: ExtractedPod, before: ExtractedPod, origin: Origin, evaluator: Evaluator) -> list[Edit]:
    """The edits that restore the injected tolerations; an update gets no other edits."""
    context = evaluator.context(updated, origin)
    if exemption(context) is not None:
        return []
    keys = {injected["key"] for injected in context.placement.injected_tolerations}
    present, earlier = _with_keys(updated.pod, keys), _with_keys(before.pod, keys)
    return [
        Append((*updated.pod.spec_path, "tolerations"), injected)
        for injected in context.placement.injected_tolerations
        if frozenset(injected.items()) in earlier and frozenset(injected.items()) not in present
    ]


def _with_keys(pod: Pod, keys: Set[str]) -> set[frozenset[tuple[str, object]]]:
    """The pod's tolerations with these keys. Tolerations of the settings have only scalar members, so others differ."""
    return {
        frozenset(raw.items())
        for raw in pod.elements("tolerations")
        if isinstance(key := raw.get("key"), str)
        and key in keys
        and not any(isinstance(member, dict | list) for member in raw.values())
    }
