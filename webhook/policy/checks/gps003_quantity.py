"""A GPU quantity is one that the API server rejects."""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.quantity import QuantityError, is_whole, parse
from webhook.policy.pods.reading import is_placeholder
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """One violation per wrong value; of a limit and a request that differ, at the request.

    One for each amount that the pod as a whole asks for.
    """
    for request in context.requests.named:
        container, name = request.container, request.resource.name
        limits, requests = container.limits, container.requests
        is_wrong = False
        for field, values in (("limits", limits), ("requests", requests)):
            if name in values and (fault := _fault(values[name])) is not None:
                is_wrong = True
                what, remedy = fault
                shown = "true or false" if isinstance(values[name], bool) else values[name]
                problem = message(f"{container.kind} {{}}: {{}} of {{}} is {what}", container.label, shown, name)
                yield Violation(container.amount_path(field, name), problem, remedy)
        if is_wrong or name not in requests:
            continue
        path = container.amount_path("requests", name)
        if name not in limits:
            problem = about(container, "requests {} without a limit", name)
            yield Violation(path, problem, "set it under limits, alone or with the same value")
        elif parse(limits[name]) != parse(requests[name]):
            problem = about(container, "requests an amount of {} that differs from its limit", name)
            yield Violation(path, problem, "make both equal, or omit the request")
    for field, name in context.requests.of_pod:
        # kubernetes/component-helpers resource/helpers.go, IsSupportedPodLevelResource. An API server without the field
        # drops it, and the pod gets no GPU.
        problem = message("the pod as a whole asks for {}; only its containers may", name)
        yield Violation((*context.pod.path_of("resources"), field, name), problem, "move it into a container")


def _fault(value: object) -> tuple[str, str] | None:
    """The name of a value that is no amount, and the remedy; None for an amount."""
    remedy = "use a whole number, such as 1"
    try:
        billionths = parse(value)
    except QuantityError:
        if is_placeholder(value):
            return "a template placeholder", "write the amount, or render the template first"
        return "not a quantity", remedy
    if billionths < 0:
        return "negative", remedy
    return None if is_whole(billionths) else ("not a whole number", remedy)
