"""Tolerations for pods that request a GPU.

Adds: the configured tolerations, by default `nvidia.com/gpu Exists NoSchedule`, and one for the resource's own name
if it is renamed.
Why: GPU nodes are often tainted. Where the API server's ExtendedResourceToleration plugin is enabled, it tolerates only
the resource's name, which is not the usual taint once resources are renamed.
Not when: a toleration of the pod already covers every taint that the injected one would.
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.verdict import Append, Edit


def run(context: PodContext) -> Sequence[Edit]:
    """The tolerations that the pod does not cover."""
    injected = context.injected_tolerations
    if not injected:
        return ()
    path = (*context.pod.spec_path, "tolerations")
    own = context.tolerations()
    edits: list[Edit] = []
    for toleration in injected:
        if not own.cover(toleration):
            own.add([toleration], path)
            edits.append(Append(path, toleration))
    return edits


INJECTION = Injection("tolerations", run, __doc__)
