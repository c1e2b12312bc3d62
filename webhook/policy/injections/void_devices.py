"""No devices for containers that ask for no GPU. Off by default.

Adds: `NVIDIA_VISIBLE_DEVICES=void`, in pods that ask for a GPU or in all pods.
Why: images bake `NVIDIA_VISIBLE_DEVICES=all`, and where the nvidia runtime is used such a container sees every GPU.
Not when: the container sets the variable (GPS007 judges).
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.pods.variables import VISIBLE_DEVICES
from webhook.policy.verdict import Append, Edit


def run(context: PodContext) -> Iterable[Edit]:
    """The variable, for each container that asks for no GPU and does not set it."""
    settings = context.rules.settings.injections.void_devices
    if not settings.enabled or (settings.pods == "gpu" and not context.demand.asks):
        return ()
    asking = {ask.container for ask in context.demand.asks}
    return (
        Append((*container.path, "env"), {"name": VISIBLE_DEVICES, "value": "void"})
        for container in context.pod.every_container()
        if container not in asking and VISIBLE_DEVICES not in container.variables
    )


INJECTION = Injection("voidDevices", run, __doc__)
