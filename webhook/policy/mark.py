"""The annotation that names the injections of a pod, so that a changed pod explains itself.

Nothing reads it to decide: any user can write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.policy.pods.client_limits import PREFIX
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import text
from webhook.policy.verdict import Extend

INJECTED: Final = f"{PREFIX}injected"
"""The annotation's key."""


def mark(pod: Pod, injections: Sequence[str]) -> Extend | None:
    """The edit that adds these injections to the annotation; None if it names all of them.

    The API server may call the webhook a second time, for parts that other webhooks have added meanwhile. Raises
    MalformedError.
    """
    path = (*pod.metadata_path, "annotations")
    missing = injections
    if INJECTED in pod.annotations:
        listed = text(pod.annotations, INJECTED, path).split(",")
        missing = [name for name in injections if name not in listed]
    return Extend((*path, INJECTED), ",".join(missing)) if missing else None
