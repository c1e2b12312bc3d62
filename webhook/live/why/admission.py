"""Pods that the kubelet rejects when it is to run them: they have failed for good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.live.pods import UNEXPECTED
from webhook.live.why.case import Case
from webhook.live.why.cause import Cause
from webhook.live.why.event import first
from webhook.live.why.pod_state import node_name, phase
from webhook.live.why.reading import word

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
    node = node_name(pod)
    evidence = [f"node {node}: {said}"] if said else []
    if reason == UNEXPECTED:
        event = first(case.events, (UNEXPECTED,))
        yield _unexpected(case, said or (event.message if event else ""), evidence or ([str(event)] if event else []))
    elif reason.startswith(_OUT_OF):
        lacking = reason.removeprefix(_OUT_OF)
        summary = (
            f"node {node} lacks {lacking} for the pod: the scheduler did not choose the node, or the node changed since"
        )
        yield Cause("out-of-resources", summary, evidence, _again(case))
    elif reason == "NodeAffinity":
        summary = f"the labels of node {node} do not meet the pod's node selector or affinity"
        yield Cause("node-affinity-changed", summary, evidence, _again(case))
    elif reason in ("HostPorts", "NodePorts", "PodFitsHostPorts"):
        yield Cause("host-port", f"another pod uses the host port on node {node}", evidence, _again(case))
    elif reason.endswith("AffinityError"):
        summary = f"the kubelet of node {node} cannot allocate CPUs or devices as its topology policy requires"
        yield Cause("unexpected-admission", summary, evidence, _again(case))


def _unexpected(case: Case, said: str, evidence: list[str]) -> Cause:
    if _UNAVAILABLE.search(said):
        summary = "the kubelet had fewer healthy devices than the pod asks for, as after a restart of the device plugin"
        return Cause("devices-unavailable", summary, evidence, _again(case))
    if _SEVERAL.search(said):
        summary = "a container asks for more than one replica, which the device plugin refuses"
        remedy = f"ask for 1, or require nodes with whole cards: {case.edit}"
        return Cause("more-than-one-replica", summary, evidence, remedy)
    summary = "the kubelet or a device plugin rejected the pod"
    return Cause("unexpected-admission", summary, evidence, _again(case))


def _again(case: Case) -> str:
    """How to try again: a failed pod never does so itself, and a controller makes another one."""
    name = f"kubectl delete pod {case.pod_name} -n {case.namespace}"
    return name if case.makers else f"{name}, then create it again"
