"""A resource name looks like a typo, or no node offers it.

Reads: the names under `resources.limits` and `resources.requests`; with facts, the resources that nodes offer.
Why: `nvidia.com/gpus` is a valid name that no node offers. Its pod stays Pending, and the scheduler's event only says
that the resource is insufficient. The check knows names with one wrong letter or in other case, node labels such as
`nvidia.com/gpu.memory`, which are not resources, and names that users often write (`nvidia.com/gpu-shared`,
`nvidia-gpu`). The API server rejects a name without a domain in any case.
Remedy: correct the name. The check accepts the names that other software gives to GPUs (`gpumem`, `gpucores`, `vgpu`,
`pgpu`, `mig-*`). Where the name is right and no node offers it, look at the device plugin of the node.
Settings: `resources`, `placement.nodeGroups`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "pods"})


def run(context: PodContext) -> Violations:
    """One violation per container and name."""
    typos = (
        violation
        for container in context.pod.containers
        if container.limits or container.requests
        for violation in _typos(context, container)
    )
    return chain(typos, _unoffered(context)) if context.requests.positive and context.facts.nodes is not None else typos


def _typos(context: PodContext, container: Container) -> Iterator[Violation]:
    for field, names in (("limits", container.limits), ("requests", container.requests)):
        for name in names:
            if (
                name in _STANDARD
                or name in context.rules.resources
                or (field == "requests" and name in container.limits)
            ):
                continue
            meant = context.rules.known_names.meant_by(name)
            if meant is not None:
                problem = message(
                    f"{container.kind} {{}} asks for {{}}; did you mean {{}}?", container.label, name, meant
                )
                path = (*container.path, "resources", field, name)
                yield Violation(path, problem, f"ask for {meant}")


def _unoffered(context: PodContext) -> Iterator[Violation]:
    """The GPU resources that no known node and no declared group offers."""
    offered = context.rules.nodes.index.offered
    return (
        Violation(
            request.path,
            message(
                f"{request.container.kind} {{}} asks for {{}}, which no node offers",
                request.container.label,
                request.resource.name,
            ),
            "correct the name, or find out why the device plugin does not advertise it",
        )
        for request in context.requests.positive
        if request.resource.name not in offered and request.billionths >= NANO
    )


CHECK = Check("GPS013", Severity.WARN, Scope.ANY, run, __doc__)
