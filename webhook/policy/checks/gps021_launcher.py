"""A launcher wants more GPUs than the container, or its group of pods, has."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.launchers.words import Launch, Spread
from webhook.policy.pods.pod import CUDA_VISIBLE, RAY_ADDRESS, VISIBLE_DEVICES, Container
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.reading import members
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import exceeds_limit, whole_cards
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """One violation per launch that needs too many GPUs; with the first pod of a group, also of pods without GPUs."""
    launches, group = context.launches, context.extracted.group
    if not launches and group is None:
        return
    certain: dict[int, list[ResourceRequest]] = {}  # the requests of each container whose GPUs are certain
    for request in context.requests.positive:
        if request.container is not context.requests.annotated:
            certain.setdefault(id(request.container), []).append(request)
    for container, launch in launches:
        requests = certain.get(id(container))
        if requests is not None:
            own = sum(request.billionths for request in requests) // NANO
            yield from _violation(context, container, launch, own, requests[-1])
    known = None if group is None else group.gpus(context.policy.resource)
    if known is not None and known.first == context.extracted.path:
        for container, launch in known.others:
            yield from _violation(context, container, launch, known.most, None)


def _violation(
    context: PodContext, container: Container, launch: Launch, gpus: int, request: ResourceRequest | None
) -> Violations:
    """At most one violation. `gpus`: how many the container has, or the container of its group with the most."""
    group = None if context.extracted.group is None else context.extracted.group.gpus(context.policy.resource)
    present, holder = gpus, "it asks for" if request is not None else "its workers have"
    is_of_group = False
    if launch.each > gpus:
        needs = launch.each
    elif launch.spread is Spread.CONTAINER or launch.total <= gpus:
        return
    elif group is not None and (group.pods > 1 or launch.spread is Spread.CLUSTER):
        if group.total is None or launch.total <= group.total:
            return
        needs, present, holder, is_of_group = launch.total, group.total, "its group has", True
    elif RAY_ADDRESS in container.variables or (
        launch.spread is Spread.CLUSTER and not context.has_own_ray(container, launch)
    ):
        return
    else:
        needs = launch.total
    if gpus < 1 or _reaches_others(container):
        return
    setting = launch.nodes if launch.nodes is not None and is_of_group else launch.setting
    program = f"{launch.program} {setting.option} {setting.value}".lstrip()
    needed = amount(needs * NANO)
    template = f"{container.kind} {{}}: {program} needs {needed} GPUs; {holder} {amount(present * NANO)}"
    fitting = setting.value * present // needs
    remedy = f"lower {setting.option} to {fitting}" if fitting else f"lower {setting.option} and what multiplies it"
    if is_of_group:
        remedy += f", or give the group {needed} GPUs"
    elif request is None:
        remedy += f", or give each worker {needed} GPUs"
    elif not exceeds_limit(context, request, needs * NANO):
        remedy = f"ask for {needed}, or {remedy}"
    else:
        cards = whole_cards(context, request)
        remedy += cards + (f", and ask for {needed}" if cards.startswith(",") else "")
    yield Violation((*container.path, *setting.place), message(template, container.label), remedy)


def _reaches_others(container: Container) -> bool:
    """Whether the container may use GPUs that it does not request, or none at all."""
    if members(container.raw, "resources", container.path).get("claims") or container.is_privileged:
        return True
    visible, cuda = container.variable(VISIBLE_DEVICES), container.variable(CUDA_VISIBLE)
    return (visible is not None and visible.get("value") not in _NO_DEVICES) or (
        cuda is not None and cuda.get("value") in _NO_DEVICES
    )


_NO_DEVICES = (None, "", "-1", "void", "none")
