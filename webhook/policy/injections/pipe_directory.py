"""The pipe directory for containers that ask for a replica.

Adds: the environment variable `CUDA_MPS_PIPE_DIRECTORY=/mps/<resource>/pipe`, appended.
Why: without it a CUDA client misses the MPS daemon and silently runs without limits, or fails.
Not when: the container sets it (GPS004 judges); the pod cannot land on an MPS node; a known candidate node is not an
MPS node, since there the variable would lead nowhere and the plugin sets it where it is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.policy.case import Case
from webhook.policy.demand import Ask
from webhook.policy.injection import Injection
from webhook.policy.pipe import VARIABLE
from webhook.policy.verdict import Append, Edit


def due(case: Case) -> Iterator[Ask]:
    """The ask of each container that should get a pipe directory, whether it sets one or not."""
    always = case.rules.settings.injections.pipe_directory.when == "always"
    containers = set()
    for ask in case.mps:
        if ask.container in containers:
            continue  # two shared resources in one container: GPS010
        containers.add(ask.container)
        if always or not case.placement.other_candidate(ask.resource):
            yield ask


def run(case: Case) -> Sequence[Edit]:
    """The variable, for each container that does not set it."""
    if not case.mps or not case.rules.settings.injections.pipe_directory.enabled:
        return ()
    return [
        Append(
            (*ask.container.path, "env"),
            {"name": VARIABLE, "value": case.rules.pipe.in_container(ask.resource.name)},
        )
        for ask in due(case)
        if VARIABLE not in ask.container.variables
    ]


INJECTION = Injection("pipeDirectory", run, __doc__)
