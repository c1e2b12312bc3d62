"""Tolerations for pods that ask for a GPU.

Adds: the configured tolerations, by default `nvidia.com/gpu Exists NoSchedule`, and one for the resource's own name
when it is renamed.
Why: GPU nodes are often tainted. The API server's own plugin, where it is switched on, tolerates the resource's name
only, which is not the usual taint once resources are renamed.
Not when: a toleration of the pod covers every taint that ours would.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.verdict import Append, Edit


def run(context: PodContext) -> Sequence[Edit]:
    """The tolerations that nothing covers yet."""
    ours = context.our_tolerations
    if not ours:
        return ()
    path = (*context.pod.spec_path, "tolerations")
    held = context.tolerations()
    edits: list[Edit] = []
    for toleration in ours:
        if not held.cover(toleration):
            held.add([toleration], path)
            edits.append(Append(path, toleration))
    return edits


INJECTION = Injection("tolerations", run, __doc__)
