"""Pods that the kubelet rejects when it is to run them: they have failed for good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cluster.reading import is_true, word
from webhook.diagnose.pods import UNEXPECTED
from webhook.diagnose.why.case import Case
from webhook.diagnose.why.cause import Cause
from webhook.diagnose.why.event import first
from webhook.diagnose.why.pod_state import phase

_SEVERAL: Final = re.compile(r"maximum request size|request for .* too large|invalid allocation request", re.ASCII)
"""The device plugin's words, which differ between versions (NVIDIA/k8s-device-plugin internal/rm `ValidateRequest`)."""

_UNAVAILABLE: Final = re.compile(
    r"devices unavailable|no healthy devices|unhealthy devices|no containers return in allocation|registered device",
    re.ASCII,
)
"""The kubelet's words (kubernetes pkg/kubelet/cm/devicemanager/manager.go `devicesToAllocate`)."""

_OUT_OF: Final = "OutOf"


def causes(case: Case) -> Iterator[Cause]:
    """The cause for which the kubelet rejected the pod."""
    pod = case.pod
    if pod is None or phase(pod) != "Failed":
        return
    reason, said = word(pod, "status", "reason"), word(pod, "status", "message")
    node = case.node_name
    evidence = [f"node {node}: {said}" if said else ""]
    if reason == UNEXPECTED:
        event = first(case.events, (UNEXPECTED,))
        if not said and event is not None:
            said, evidence = event.message, [str(event)]
        yield _unexpected(case, said, evidence)
    elif reason.startswith(_OUT_OF):
        why = "the scheduler did not choose the node, or the node changed since"
        summary = f"node {node} lacks {reason.removeprefix(_OUT_OF)} for the pod: {why}"
        yield Cause("out-of-resources", summary, evidence, case.again)
    else:
        for ending, cause, summary in _REJECTED:
            if reason.endswith(ending):
                yield Cause(cause, summary.format(node=node), evidence, case.again)
                return


_REJECTED: Final = (
    (
        "NodeAffinity",
        "node-affinity-changed",
        "the labels of node {node} do not meet the pod's node selector or affinity",
    ),
    ("HostPorts", "host-port", "another pod uses the host port on node {node}"),
    ("NodePorts", "host-port", "another pod uses the host port on node {node}"),
    (
        "AffinityError",
        "unexpected-admission",
        "the kubelet of node {node} cannot allocate CPUs or devices as its topology policy requires",
    ),
)
"""Other reasons of a rejected pod by their ends, with the cause and its summary."""


def _unexpected(case: Case, said: str, evidence: list[str]) -> Cause:
    job = next((found for kind, found in case.makers if kind == "Job" and is_true(found, "Complete")), None)
    if job is not None:
        summary = (
            f"Job {word(job, 'metadata', 'name')} has completed: the kubelet restarted, and rejected its finished pod"
        )
        return Cause("devices-unavailable", summary, evidence, case.of_pod("delete"))
    if _UNAVAILABLE.search(said):
        summary = "the kubelet had fewer healthy devices than the pod asks for, as after a restart of the device plugin"
        return Cause("devices-unavailable", summary, evidence, case.again)
    if _SEVERAL.search(said):
        summary = "a container asks for more than one replica, which the device plugin refuses"
        remedy = case.by_edit("ask for 1, or require nodes with whole cards")
        return Cause("more-than-one-replica", summary, evidence, remedy)
    summary = "the kubelet or a device plugin rejected the pod"
    return Cause("unexpected-admission", summary, evidence, case.again)
