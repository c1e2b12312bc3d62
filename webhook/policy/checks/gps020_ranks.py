"""Several ranks of one distributed job may share a card."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.launchers.words import Spread
from webhook.policy.messages import message
from webhook.policy.pods.quantity import NANO, amount
from webhook.policy.pods.reading import Members, elements, members
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.replica_limits import limit_on, whole_cards
from webhook.policy.verdict import Path, Severity, Violation
from webhook.policy.workloads.extracted import ExtractedPod


def run(context: PodContext) -> Violations:
    """One violation per container with several ranks, else at most one for the pod and others of its job."""
    if context.extracted.group is None and not context.launches:
        return ()
    return list(_within(context)) or _across(context)


def _within(context: PodContext) -> Iterator[Violation]:
    """The containers with ranks on several replicas, which may be of one card."""
    replicas = {id(request.container): request for request in context.mps_requests if request.billionths > NANO}
    if not replicas or context.extracted.ranks_may_share:
        return
    for container, launch in context.launches:
        request = replicas.get(id(container))
        ranks = launch.total if launch.spread is Spread.GROUP and _is_alone(context) else launch.each
        if request is None or not 1 < ranks <= request.billionths // NANO:  # GPS021 reports more
            continue
        if not _is_over_limit(context, request):
            several = f"{amount(ranks * NANO)} ranks by {launch.setting.option}"
            template = f"{container.kind} {{}}: {several} may share a card, which NCCL refuses"
            remedy = f"lower {launch.setting.option} to 1, or set NCCL_MULTI_RANK_GPU_ENABLE=1 for NCCL 2.30 or later"
            place = (*container.path, *launch.setting.place)
            yield Violation(place, message(template, container.label), remedy)


def _is_alone(context: PodContext) -> bool:
    """Whether no other pod takes a part of what the pod launches: it has no group, or is known to be all of it."""
    group = context.extracted.group
    if group is None:
        return True
    known = group.gpus(context.rules.resource)
    return known.total is not None and known.pods < 2


def _is_over_limit(context: PodContext, request: ResourceRequest) -> bool:
    """Whether a container asks for more replicas than it may have, which GPS001 reports."""
    limit = limit_on(context, "mps", request.resource)
    return limit is not None and request.billionths > limit * NANO


def _across(context: PodContext) -> Violations:
    """The pod, where other pods of its job are ranks too and may get replicas of the same card."""
    request = context.mps_requests[0]
    if not _has_other_ranks(context) or _is_over_limit(context, request) or keeps_apart(context.extracted):
        return ()
    problem = message(
        "pods of one job may share a card of {}; NCCL refuses or slows down ranks on one GPU", request.resource.name
    )
    remedy = f"require podAntiAffinity on kubernetes.io/hostname{whole_cards(context, request)}"
    return [Violation(request.path, problem, remedy)]


def _has_other_ranks(context: PodContext) -> bool:
    extracted = context.extracted
    if extracted.group is None:
        spans = any(launch.spans and not context.has_own_ray(one, launch) for one, launch in context.launches)
        return spans and not extracted.ranks_may_share
    lookup = context.rules.resource
    if extracted.group.gpus(lookup).pods < 2:
        return False
    spans, may_share = extracted.group.ranks(lookup)
    return (spans or extracted.place.ranks) and not may_share


_HOSTNAME = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def keeps_apart(extracted: ExtractedPod) -> bool:
    """Whether a required anti-affinity keeps the pods that are made from it on different nodes. Raises MalformedError.

    A label with a prefix, or `job-name`, that the template lacks counts as one that the controller adds to all of them.
    """
    pod = extracted.pod
    path: Path = (*pod.spec_path, "affinity")
    anti = members(pod.members("affinity"), "podAntiAffinity", path)
    if not anti:
        return False
    path = (*path, "podAntiAffinity")
    labels = members(members(extracted.raw, "metadata", extracted.path), "labels", (*extracted.path, "metadata"))
    return any(
        term.get("topologyKey") == _HOSTNAME and _matches(term, labels, (*path, _REQUIRED, index))
        for index, term in enumerate(elements(anti, _REQUIRED, path))
    )


def _matches(term: Members, labels: Members, path: Path) -> bool:
    """Whether the selector of a term matches pods with these labels. Without a selector it matches none."""
    if not isinstance(term.get("labelSelector"), dict):
        return False
    selector, path = term["labelSelector"], (*path, "labelSelector")
    labelled = members(selector, "matchLabels", path).items()
    return all(_meets(labels, key, "In", [value]) for key, value in labelled) and all(
        _meets(labels, one.get("key"), one.get("operator"), one.get("values"))
        for one in elements(selector, "matchExpressions", path)
    )


def _meets(labels: Members, key: object, operator: object, values: object) -> bool:
    if not isinstance(key, str):
        return False
    is_added = key not in labels and ("/" in key or key == "job-name")
    match operator:
        case "In" if isinstance(values, list):
            return is_added or (key in labels and labels[key] in values)
        case "NotIn" if isinstance(values, list):
            return labels.get(key) not in values
        case "Exists":
            return is_added or key in labels
        case "DoesNotExist":
            return key not in labels
    return False


CHECK = Check("GPS020", Severity.WARN, Scope.MPS, run, "Several ranks of one distributed job may share a card")
