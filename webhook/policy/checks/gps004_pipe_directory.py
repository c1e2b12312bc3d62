"""`CUDA_MPS_PIPE_DIRECTORY` leads away from the daemon.

Reads: `env` of containers that ask for a replica; of several entries the last counts.
Why: the pod's value beats the device plugin's. A client that looks elsewhere misses the daemon and runs without MPS, or
fails with "all CUDA-capable devices are busy or unavailable". What `valueFrom` or `$(NAME)` will give is not known
here, so it is a warning only.
Remedy: leave the variable out; the device plugin and this webhook set it.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.reading import text
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.pods.variables import PIPE_DIRECTORY
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """One claim a container that sets another path."""
    return (claim for ask in context.first_asks if (claim := _claim(context, ask)) is not None)


def _claim(context: PodContext, ask: ResourceRequest) -> Claim | None:
    entry = ask.container.variable(PIPE_DIRECTORY)
    if entry is None:
        return None
    pipe = context.rules.pipes[ask.resource.name]
    wanted = pipe.path
    path = ask.container.variable_path(PIPE_DIRECTORY, "valueFrom" if entry.get("valueFrom") is not None else "value")
    value = text(entry, "value", ask.container.variable_path(PIPE_DIRECTORY, ""))
    if entry.get("valueFrom") is not None or "$(" in value:
        said = message(
            f"{ask.container.kind} {{}} takes {PIPE_DIRECTORY} from elsewhere; it must be {{}}",
            ask.container.name,
            wanted,
        )
        return Claim(path, said, f"leave the variable out, or set it to {wanted}", Severity.WARN)
    if value and clean_path(value) == pipe.clean and value.startswith("/"):
        return None
    said = message(
        f"{ask.container.kind} {{}} sets {PIPE_DIRECTORY} to {{}}, where no daemon is", ask.container.name, value
    )
    return Claim(path, said, f"leave the variable out, or set it to {wanted}")


CHECK = Check("GPS004", Severity.DENY, Scope.MPS, run, __doc__)
