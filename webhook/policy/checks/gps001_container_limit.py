"""A container requests more replicas than its limit.

Reads: `resources.limits` and `resources.requests` of init containers, sidecars and containers; the selectors, required
affinity and tolerations of the pod, and with facts the nodes, to find out where it could run.

Why: the device plugin rejects a request for more than one replica of a GPU that is shared through MPS, and of one that
is time-sliced where its option `failRequestsGreaterThanOne` is set. GKE's plugin rejects it for time-sharing, and for
MPS on nodes with several cards. The kubelet then fails the pod permanently with `UnexpectedAdmissionError`, and its
controller creates the next one immediately: about 300 failed pods in 30 seconds. More replicas would not give a
container a larger share of one GPU.

Exceptions: the check only warns where the pod could still run: under profile `gke` for MPS, and where a queue, a
scheduling gate, the suspension of a workload or another object leaves the choice of nodes open: one that uses it, as a
TaskRun uses a Task, or one whose fields the check does not read. So it does while a DeviceClass serves the resource and
nodes are unknown, unless the pod requires nodes that share their GPUs.

A known node of which no label, node group or configuration of the device plugin shows how it shares GPUs, and one
with more labels, taints or resources than the webhook reads, counts as a node that shares them. The remedy names it.

Remedy: ask for 1, or keep the pod on nodes with whole cards: exclude every label of nodes that share theirs, which the
message spells out, in the required node affinity. Where the plugin accepts more (`failRequestsGreaterThanOne: false`,
for MPS in v0.20 or newer), raise `limits.perContainer`; where it time-slices and rejects more, set
`limits.timeSlicing.perContainer`. HAMi's device plugin has no such limit: set `limits.perContainer` and `limits.perPod`
to null in a cluster that it manages.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.remedies import fewer_replicas, hami, lower_amount, unknown_node, whole_cards
from webhook.policy.replica_limits import Excess, cap, is_open, over_container
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import amount, message


def run(context: PodContext) -> Violations:
    """One violation per container and resource over its limit."""
    return (
        Violation(
            excess.request.path,
            message(
                f"{excess.request.container.kind} {{}} asks for {amount(excess.request.billionths)} of {{}}; "
                + _rule(excess, is_open=is_open(context, [excess.request])),
                excess.request.container.label,
                excess.request.resource.name,
            ),
            fewer_replicas(context, excess.limit)
            + whole_cards(context, excess.request)
            + unknown_node(context, excess.request)
            + hami(excess.request.container),
            cap(context, [excess.request]),
            lower_amount(context, excess.request, excess.limit),
        )
        for excess in over_container(context)
    )


def _rule(excess: Excess, *, is_open: bool) -> str:
    if is_open:
        return f"nodes chosen later must not be {excess.sharing.value}"
    return f"the limit is {excess.limit} where it is {excess.sharing.value}"


CHECK = Check(
    "GPS001",
    Severity.DENY,
    Scope.SHARED,
    run,
    __doc__,
    settings=(
        "limits.perContainer",
        "limits.timeSlicing.perContainer",
        "limits.fromDevicePlugin",
        "limits.mpsMayAcceptMore",
        "placement.mpsLabels",
        "placement.timeSlicingLabels",
        "injections.steering.enabled",
    ),
    sources=(
        "NVIDIA/k8s-device-plugin:internal/rm/rm.go",
        "NVIDIA/k8s-device-plugin#443",
        "NVIDIA/k8s-device-plugin#1762",
        "kubernetes/kubernetes:pkg/kubelet/cm/admission/errors.go",
        "kubernetes/kubernetes#108152",
        "GoogleCloudPlatform/container-engine-accelerators:pkg/gpu/nvidia/gpusharing/gpusharing.go",
    ),
)
