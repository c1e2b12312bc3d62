"""Several ranks of one distributed job may share a card."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.launchers.words import Spread
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.reading import Members, elements, members
from webhook.policy.replica_limits import exceeds_limit, whole_cards
from webhook.policy.verdict import Path, Violation, Violations, message
from webhook.policy.workloads.kinds import ExtractedPod


def run(context: PodContext) -> Violations:
    """One violation per container with several ranks, else at most one for the pod and others of its job."""
    if context.extracted.group is None and not context.launches:
        return ()
    return list(_within(context)) or _across(context)


def _within(context: PodContext) -> Violations:
    """The containers with ranks on several replicas, which may be of one card."""
    replicas = {id(request.container): request for request in context.mps_requests if request.billionths > NANO}
    if not replicas or context.extracted.ranks_may_share:
        return
    group = context.extracted.group
    for container, launch in context.launches:
        request = replicas.get(id(container))
        ranks = launch.each
        if launch.spread is Spread.GROUP:
            known = None if group is None else group.gpus(context.policy.resource)
            if known is None or (known.total is not None and known.pods < 2):
                ranks = launch.total  # no other pod takes a part of what the pod launches
        # GPS021 reports more ranks than replicas, and GPS001 more replicas than the limit.
        if request is None or not 1 < ranks <= request.billionths // NANO:
            continue
        if not exceeds_limit(context, request, request.billionths):
            option = launch.setting.option
            several = f"{amount(ranks * NANO)} ranks by {option}"
            template = f"{container.kind} {{}}: {several} may share a card, which NCCL refuses"
            remedy = f"lower {option} to 1, or set NCCL_MULTI_RANK_GPU_ENABLE=1 for NCCL 2.30 or later"
            yield Violation((*container.path, *launch.setting.place), message(template, container.label), remedy)


def _across(context: PodContext) -> Violations:
    """The pod, where other pods of its job are ranks too and may get replicas of the same card."""
    extracted, request, lookup = context.extracted, context.mps_requests[0], context.policy.resource
    if extracted.group is None:
        spans = any(
            launch.spans and not context.has_own_ray(container, launch) for container, launch in context.launches
        )
        others_are_ranks = spans and not extracted.ranks_may_share
    elif extracted.group.gpus(lookup).pods < 2:
        others_are_ranks = False
    else:
        spans, may_share = extracted.group.ranks(lookup)
        others_are_ranks = (spans or extracted.place.ranks) and not may_share
    if not others_are_ranks or exceeds_limit(context, request, request.billionths) or keeps_apart(extracted):
        return ()
    problem = message(
        "pods of one job may share a card of {}; NCCL refuses or slows down ranks on one GPU", request.resource.name
    )
    remedy = f"require podAntiAffinity on kubernetes.io/hostname{whole_cards(context, request)}"
    return [Violation(request.path, problem, remedy)]


def keeps_apart(extracted: ExtractedPod) -> bool:
    """Whether a required anti-affinity keeps the pods that are made from it on different nodes. Raises MalformedError.

    A label with a prefix, or `job-name`, that the template lacks counts as one that the controller adds to all of them.
    """
    pod = extracted.pod
    path: Path = (*pod.spec_path, "affinity")
    anti = members(pod.members("affinity"), "podAntiAffinity", path)
    if not anti:
        return False
    labels = members(members(extracted.raw, "metadata", extracted.path), "labels", (*extracted.path, "metadata"))
    field, path = "requiredDuringSchedulingIgnoredDuringExecution", (*path, "podAntiAffinity")
    return any(
        term.get("topologyKey") == "kubernetes.io/hostname" and _matches(term, labels, (*path, field, index))
        for index, term in enumerate(elements(anti, field, path))
    )


def _matches(term: Members, labels: Members, path: Path) -> bool:
    """Whether the selector of a term matches pods with these labels. Without a selector it matches none."""
    selector, path = term.get("labelSelector"), (*path, "labelSelector")
    if not isinstance(selector, dict):
        return False
    named = members(selector, "matchLabels", path).items()
    return all(_meets(labels, {"key": key, "operator": "In", "values": [value]}) for key, value in named) and all(
        _meets(labels, expression) for expression in elements(selector, "matchExpressions", path)
    )


def _meets(labels: Members, expression: Members) -> bool:
    key, values = expression.get("key"), expression.get("values")
    if not isinstance(key, str):
        return False
    is_added = key not in labels and ("/" in key or key == "job-name")
    match expression.get("operator"):
        case "In" if isinstance(values, list):
            return is_added or (key in labels and labels[key] in values)
        case "NotIn" if isinstance(values, list):
            return labels.get(key) not in values
        case "Exists":
            return is_added or key in labels
        case "DoesNotExist":
            return key not in labels
    return False
