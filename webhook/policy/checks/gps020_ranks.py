"""Several ranks of one distributed job may share a card.

Reads: the kind of the object and how many pods it makes; `command` and `args` as GPS021 reads them;
`NCCL_MULTI_RANK_GPU_ENABLE` in `env`; the required `podAntiAffinity` and the labels of the pod.

Why: NCCL refuses two ranks on one GPU of one host, with the error "Duplicate GPU detected" or "Multiple Ranks are using
the same GPU". XGBoost refuses them anywhere. NCCL takes pods with a hostname of their own for several hosts: it then
starts, but its ranks communicate through the network stack, and take turns on one card instead of adding up. A test
with two pods on shared cards measured 17 GB/s instead of 57 GB/s.

The pods of a PyTorchJob, JAXJob, PaddleJob and XGBoostJob are ranks. Pods of other kinds count where a command line
says so: `--nnodes` above 1, vLLM on Ray with several GPUs, nccl-tests, Horovod. Several ranks in one container count
where it asks for several replicas.

Exceptions: the check is silent where the pods cannot meet, by a required anti-affinity on `kubernetes.io/hostname` that
matches the pod's own labels (labels with a prefix that the template lacks count as added by the controller); where
GPS001 reports the number of replicas; with `NCCL_MULTI_RANK_GPU_ENABLE=1`, which NCCL knows since 2.30; and with the
backend `gloo`.

Remedy: give each rank a card of its own: keep the pods apart by anti-affinity, or use whole cards. For one container,
start one rank. NCCL 2.30 and later accept several ranks on one GPU with `NCCL_MULTI_RANK_GPU_ENABLE=1`; the option is
experimental, and no faster than one rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.launchers.words import Launch, Spread
from webhook.policy.pod_separation import keeps_apart
from webhook.policy.pods.pod import Container
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.remedies import whole_cards
from webhook.policy.replica_limits import limit_on
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import amount, message


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
        ranks = launch.total if launch.spread is Spread.GROUP and context.extracted.group is None else launch.each
        if request is None or not 1 < ranks <= request.billionths // NANO:  # GPS021 reports more
            continue
        if not _is_over_limit(context, request):
            yield _of_container(container, launch, ranks)


def _is_over_limit(context: PodContext, request: ResourceRequest) -> bool:
    """Whether a container asks for more replicas than it may have, which GPS001 reports."""
    limit = limit_on(context, "mps", request.resource)
    return limit is not None and request.billionths > limit * NANO


def _of_container(container: Container, launch: Launch, ranks: int) -> Violation:
    problem = message(
        f"{container.kind} {{}}: {amount(ranks * NANO)} ranks by {launch.option} may share a card, which NCCL refuses",
        container.label,
    )
    remedy = f"lower {launch.option} to 1, or set NCCL_MULTI_RANK_GPU_ENABLE=1 for NCCL 2.30 or later"
    return Violation((*container.path, *launch.place), problem, remedy)


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
        spans = any(launch.spans for _, launch in context.launches)
        return spans and not extracted.ranks_may_share
    lookup = context.rules.resource
    if extracted.group.gpus(lookup).pods < 2:
        return False
    spans, may_share = extracted.group.ranks(lookup)
    return (spans or extracted.place.ranks) and not may_share


CHECK = Check(
    "GPS020",
    Severity.WARN,
    Scope.MPS,
    run,
    __doc__,
    settings=("workloads.presets", "limits.perContainer"),
    sources=(
        "NVIDIA/nccl:src/init.cc",
        "NVIDIA/nccl:src/misc/utils.cc",
        "dmlc/xgboost:src/collective/comm.cu",
        "volcano-sh/volcano#5097",
    ),
)
