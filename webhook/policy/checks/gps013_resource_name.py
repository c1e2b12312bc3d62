"""A resource name that is probably a slip.

Reads: the names under `resources.limits` and `resources.requests`; with facts what the nodes offer.
Why: `nvidia.com/gpus` is a valid name that no node offers. Its pod stays Pending for ever, and nothing says why.
Remedy: correct the name. Names that other software gives to GPUs (`gpumem`, `gpucores`, `vgpu`, `pgpu`, `mig-*`) are
known.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.pod import Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "pods"})


def run(context: PodContext) -> Claims:
    """One claim a container and name."""
    typos = (
        claim
        for container in context.pod.containers
        if container.limits or container.requests
        for claim in _typos(context, container)
    )
    return chain(typos, _unoffered(context)) if context.demand.asks and context.facts.nodes is not None else typos


def _typos(context: PodContext, container: Container) -> Iterator[Claim]:
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
                said = message(f"{container.kind} {{}} asks for {{}}; did you mean {{}}?", container.name, name, meant)
                path = (*container.path, "resources", field, name)
                yield Claim(path, said, f"ask for {meant}")


def _unoffered(context: PodContext) -> Iterator[Claim]:
    """The GPU resources that no known node and no declared group offers."""
    offered = context.rules.nodes.offered
    return (
        Claim(
            ask.path,
            message(
                f"{ask.container.kind} {{}} asks for {{}}, which no node offers", ask.container.name, ask.resource.name
            ),
            "correct the name, or see why the device plugin does not advertise it",
        )
        for ask in context.demand.asks
        if ask.resource.name not in offered and ask.billionths >= NANO
    )


CHECK = Check("GPS013", Severity.WARN, Scope.ANY, run, __doc__)
