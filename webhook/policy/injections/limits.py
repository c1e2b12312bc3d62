"""Limits of an MPS client, from the pod's annotations.

Adds: `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`, `CUDA_MPS_PINNED_DEVICE_MEM_LIMIT` and `CUDA_MPS_CLIENT_PRIORITY` in the
containers that ask for a replica, from the annotations `gpushare-webhook/active-thread-percentage`,
`gpushare-webhook/pinned-device-memory-limit` and `gpushare-webhook/client-priority`.
Why: a client may lower its own share, and a pod is the place to say so once for all its containers.
Not when: the container sets the variable; the annotation is malformed (GPS018).
"""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.case import Case
from webhook.policy.client_limits import ANNOTATIONS
from webhook.policy.injection import Injection
from webhook.policy.verdict import Append, Edit


def run(case: Case) -> Sequence[Edit]:
    """The variables that the annotations ask for."""
    annotations = case.pod.annotations
    if not annotations or not case.mps or not case.rules.settings.injections.limits.enabled:
        return ()
    edits: list[Edit] = []
    for annotation in ANNOTATIONS:
        value = annotations.get(annotation.key)
        if not isinstance(value, str):
            continue
        try:
            written = annotation.write(value)
        except ValueError:
            continue
        edits.extend(
            Append((*ask.container.path, "env"), {"name": annotation.variable, "value": written})
            for ask in case.first_asks
            if annotation.variable not in ask.container.variables
        )
    return edits


INJECTION = Injection("limits", run, __doc__)
