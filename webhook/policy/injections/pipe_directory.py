"""The pipe directory for containers that ask for a replica.

Adds: the environment variable `CUDA_MPS_PIPE_DIRECTORY=/mps/<resource>/pipe`, appended.
Why: without it a CUDA client misses the MPS daemon and silently runs without limits, or fails.
Not when: the container sets it (GPS004 judges); the pod cannot land on an MPS node; a known candidate node is not an
MPS node, since there the variable would lead nowhere and the plugin sets it where it is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webhook.policy.context import PodContext
from webhook.policy.injections.injection import Injection
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.pods.variables import PIPE_DIRECTORY
from webhook.policy.verdict import Append, Edit


def due(context: PodContext) -> Sequence[ResourceRequest]:
    """The ask of each container that should get a pipe directory, whether it sets one or not."""
    placement = context.placement
    if not placement.index.all or context.rules.settings.injections.pipe_directory.when == "always":
        return context.first_asks
    return [ask for ask in context.first_asks if not placement.other_candidate(ask.resource)]


def run(context: PodContext) -> Iterable[Edit]:
    """The variable, for each container that does not set it."""
    if not context.mps or not context.rules.settings.injections.pipe_directory.enabled:
        return ()
    return (
        Append(
            (*ask.container.path, "env"),
            {"name": PIPE_DIRECTORY, "value": context.rules.pipes[ask.resource.name].path},
        )
        for ask in due(context)
        if PIPE_DIRECTORY not in ask.container.variables
    )


INJECTION = Injection("pipeDirectory", run, __doc__)
