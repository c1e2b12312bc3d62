"""A resource name that is probably a slip.

Reads: the names under `resources.limits` and `resources.requests`; with facts what the nodes offer.
Why: `nvidia.com/gpus` is a valid name that no node offers. Its pod stays Pending for ever, and nothing says why.
Remedy: correct the name. Names that other software gives to GPUs (`gpumem`, `gpucores`, `vgpu`, `pgpu`, `mig-*`) are
known.
"""

from __future__ import annotations

from functools import lru_cache

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.pod import Container
from webhook.policy.quantity import NANO
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_FOREIGN = frozenset({"gpumem", "gpumem-percentage", "gpucores", "vgpu", "pgpu"})
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "pods"})


def run(case: Case) -> Claims:
    """One claim a container and name."""
    claims: list[Claim] = []
    for container in case.pod.containers:
        if container.limits or container.requests:
            claims += _slips(case, container)
    return claims + _unoffered(case) if case.demand.asks else claims


def _slips(case: Case, container: Container) -> list[Claim]:
    claims = []
    for field, names in (("limits", container.limits), ("requests", container.requests)):
        for name in names:
            if name in _STANDARD or name in case.rules.resources or (field == "requests" and name in container.limits):
                continue
            meant = meant_by(name, case.rules.known_names)
            if meant is not None:
                said = message(f"{container.kind} {{}} asks for {{}}; did you mean {{}}?", container.name, name, meant)
                path = (*container.path, "resources", field, name)
                claims.append(Claim(path, said, f"ask for {meant}"))
    return claims


def meant_by(name: str, known: tuple[str, ...]) -> str | None:
    """The known resource that a name, one edit away from it, probably means."""
    if name in known or name.partition("/")[2] in _FOREIGN or name.startswith("nvidia.com/mig-"):
        return None
    return next((resource for resource in known if _is_one_edit_away(name, resource)), None)


@lru_cache(maxsize=4096)
def _is_one_edit_away(left: str, right: str) -> bool:
    """Whether one letter more, less or other, or two swapped, make one of the other."""
    if abs(len(left) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    left, right = left[start:], right[start:]
    swapped = len(left) >= 2 and left[1::-1] + left[2:] == right
    return swapped or left[1:] == right[1:] or left[1:] == right or left == right[1:]


def _unoffered(case: Case) -> list[Claim]:
    """The GPU resources that no known node and no declared group offers enough of for any pod."""
    if case.facts.nodes is None:
        return []
    offered = {name for node in (*case.facts.nodes, *case.rules.node_groups) for name in node.resources}
    return [
        Claim(
            ask.path,
            message(
                f"{ask.container.kind} {{}} asks for {{}}, which no node offers", ask.container.name, ask.resource.name
            ),
            "correct the name, or see why the device plugin does not advertise it",
        )
        for ask in case.demand.asks
        if ask.resource.name not in offered and ask.billionths >= NANO
    ]


CHECK = Check("GPS013", Severity.WARN, Scope.ANY, run, __doc__)
