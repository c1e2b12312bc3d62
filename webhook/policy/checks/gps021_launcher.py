"""A launcher wants more GPUs than the container, or its group of pods, has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webhook.policy.checks.check import Check, Scope
from webhook.policy.context import PodContext
from webhook.policy.launchers.words import Launch, Setting, Spread
from webhook.policy.messages import message
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.pod import CUDA_VISIBLE, RAY_ADDRESS, VISIBLE_DEVICES, Container
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.reading import members
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import limit_on, whole_cards
from webhook.policy.verdict import Severity, Violation


class _Shortage(NamedTuple):
    """The GPUs that a launch needs, those that there are, and the words that name their holder."""

    needs: int
    present: int
    holder: str


def run(context: PodContext) -> Iterator[Violation]:
    """One violation per launch that needs too many GPUs; with the first pod of a group, also of pods without GPUs."""
    extracted = context.extracted
    if not context.launches and extracted.group is None:
        return
    held = _held(context)
    for container, launch in context.launches:
        requests = held.get(id(container))
        if requests is not None:
            own = sum(request.billionths for request in requests) // NANO
            yield from _violation(context, container, launch, own, requests[-1])
    group = None if extracted.group is None else extracted.group.gpus(context.rules.resource)
    if group is not None and group.first == extracted.path:
        for container, launch in group.others:
            yield from _violation(context, container, launch, group.most, None)


def _held(context: PodContext) -> dict[int, list[ResourceRequest]]:
    """The requests of each container whose GPUs are certain, by the identity of the container."""
    held: dict[int, list[ResourceRequest]] = {}
    for request in context.requests.positive:
        if request.container is not context.requests.annotated:
            held.setdefault(id(request.container), []).append(request)
    return held


def _violation(
    context: PodContext, container: Container, launch: Launch, gpus: int, request: ResourceRequest | None
) -> Iterator[Violation]:
    """At most one violation. `gpus`: how many the container has, or the container of its group with the most."""
    shortage = _shortage(context, container, launch, gpus, "it asks for" if request is not None else _WORKERS)
    if shortage is None or gpus < 1 or _reaches_others(container):
        return
    setting = launch.nodes if launch.nodes is not None and shortage.holder is _GROUP else launch.setting
    program = f"{launch.program} {setting.option} {setting.value}".lstrip()
    needs, present = amount(shortage.needs * NANO), amount(shortage.present * NANO)
    template = f"{container.kind} {{}}: {program} needs {needs} GPUs; {shortage.holder} {present}"
    problem = message(template, container.label)
    yield Violation((*container.path, *setting.place), problem, _remedy(context, setting, shortage, request))


_GROUP, _WORKERS = "its group has", "its workers have"


def _shortage(context: PodContext, container: Container, launch: Launch, gpus: int, holder: str) -> _Shortage | None:
    """The shortage of GPUs, or None. `holder` are the words for the container that has the GPUs."""
    if launch.each > gpus:
        return _Shortage(launch.each, gpus, holder)
    if launch.spread is Spread.CONTAINER or launch.total <= gpus:
        return None
    group = context.extracted.group
    known = None if group is None else group.gpus(context.rules.resource)
    if known is not None and (known.pods > 1 or launch.spread is Spread.CLUSTER):
        is_short = known.total is not None and launch.total > known.total
        return _Shortage(launch.total, known.total or 0, _GROUP) if is_short else None
    is_elsewhere = launch.spread is Spread.CLUSTER and not context.has_own_ray(container, launch)
    if is_elsewhere or RAY_ADDRESS in container.variables:
        return None
    return _Shortage(launch.total, gpus, holder)


def _reaches_others(container: Container) -> bool:
    """Whether the container may use GPUs that it does not request, or none at all."""
    if members(container.raw, "resources", container.path).get("claims") or container.is_privileged:
        return True
    visible, cuda = container.variable(VISIBLE_DEVICES), container.variable(CUDA_VISIBLE)
    return (visible is not None and visible.get("value") not in _NO_DEVICES) or (
        cuda is not None and cuda.get("value") in _NO_DEVICES
    )


_NO_DEVICES = (None, "", "-1", "void", "none")


def _remedy(context: PodContext, setting: Setting, shortage: _Shortage, request: ResourceRequest | None) -> str:
    fitting = setting.value * shortage.present // shortage.needs
    lower = f"lower {setting.option} to {fitting}" if fitting else f"lower {setting.option} and what multiplies it"
    needs = amount(shortage.needs * NANO)
    if shortage.holder is _GROUP:
        return f"{lower}, or give the group {needs} GPUs"
    if request is None:
        return f"{lower}, or give each worker {needs} GPUs"
    if not _is_limited(context, request, shortage.needs):
        return f"ask for {needs}, or {lower}"
    cards = whole_cards(context, request)
    return f"{lower}{cards}" + (f", and ask for {needs}" if cards.startswith(",") else "")


def _is_limited(context: PodContext, request: ResourceRequest, needs: int) -> bool:
    """Whether a request for as many replicas would exceed the limit of a container."""
    if request.resource.kind != "shared" or context.placement.lands(request.resource) is Reachability.NO:
        return False
    limit = limit_on(context, "mps", request.resource)
    return limit is not None and needs > limit


CHECK = Check(
    "GPS021", Severity.WARN, Scope.GPU, run, "A launcher wants more GPUs than the container, or its group of pods, has"
)
