"""KAI Scheduler rejects the annotations by which a pod asks for a part of a card.

The rules are those of kai-scheduler/api utilities/resources/gpu_sharing_validation.go (`ValidateGPUFractionRequest`).
"""

from __future__ import annotations

from webhook.policy.checks.check import about
from webhook.policy.context import PodContext
from webhook.policy.pods.gpu_resources import CARD
from webhook.policy.pods.requests import LIMIT, MODE, REQUEST, fraction_memory, parts
from webhook.policy.verdict import Severity, Violation, Violations, message

_MEMORY, _MODES = (REQUEST, LIMIT), ("time-slicing", "sm-sharing")
_USE_MODE = f"use {' or '.join(_MODES)}"


def run(context: PodContext) -> Violations:
    """At most one violation per annotation, and one per container with whole cards.

    KAI's webhook reads the pods of its own scheduler alone, so that others get warnings.
    """
    pod, own = context.pod, context.pod.annotations
    held = parts(own) if context.policy.has_fractions or context.policy.trusts_markers else ()
    if not held:
        return
    names = {name for each in pod.every_container() if isinstance(name := each.raw.get("name"), str)}
    target = next((container for _, container, setting in held if setting in _MEMORY), None)
    is_certain = target is not None and pod.spec.get("schedulerName") == "kai-scheduler"
    cap, path = Severity.DENY if is_certain else Severity.WARN, (*pod.metadata_path, "annotations")
    amounts = {setting: fraction_memory(own[key]) for key, container, setting in held if container == target}
    is_more = amounts.get(REQUEST, 0) > amounts.get(LIMIT, 0) > 0
    for key, container, setting in held:
        rules = (
            (not setting, "KAI Scheduler v0.18 does not know annotation {}", f"use one that ends in .{LIMIT}"),
            # KAI's binder sets it when it chooses the node.
            (setting == "gpus.devices" and not pod.spec.get("nodeName"), "only KAI may set annotation {}", "omit it"),
            (container not in names, "annotation {} names no container of the pod", "use the name of a container"),
            (
                target not in (container, None),
                "annotation {} names a second container, and KAI accepts one",
                "split the pod",
            ),
            (
                setting in _MEMORY and not fraction_memory(own[key]),
                "annotation {} is not a quantity of at least 1Mi",
                "use a quantity, such as 16Gi",
            ),
            (setting == MODE and own[key] not in _MODES, "annotation {} is not a mode", _USE_MODE),
            (
                setting == REQUEST and is_more,
                "annotation {} exceeds the limit",
                "raise the limit, or lower the request",
            ),
        )
        for is_wrong, problem, remedy in rules:
            if is_wrong:
                # A newer KAI may know other annotations, and other modes.
                most = cap if setting and remedy != _USE_MODE else Severity.WARN
                yield Violation((*path, key), message(problem, key), remedy, most)
                break
    for old in ("gpu-fraction", "gpu-memory"):
        if amounts.get(LIMIT) and own.get(old, "") != "" and f"{old}.limit" not in own:
            against = message("annotation {} contradicts the limit of container {}", old, target)
            yield Violation((*path, old), against, "omit one of them", cap)
    for each in pod.containers if target is not None else ():
        if CARD in each.limits:
            twice = about(each, "asks for nvidia.com/gpu, and an annotation for a part of a card")
            yield Violation(each.name_path("limits", CARD), twice, "omit one of them", cap)
