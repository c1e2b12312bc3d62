"""Findings about pods: those that the kubelet rejected, and mounts that reach an MPS daemon or are not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.live.doctor.finding import Check, Finding, listed
from webhook.live.doctor.seen import Seen
from webhook.policy.rules import ENFORCE_LABEL
from webhook.report.lines import counted

DEFAULT_PIPE: Final = "/tmp/nvidia-mps"  # noqa: S108 - the pipe directory of CUDA without the variable
_MOST: Final = 20
"""Owners that get a finding of their own."""


def _rejected(seen: Seen) -> Iterator[Finding]:
    """Owners of pods that ended in UnexpectedAdmissionError, the most pods first."""
    owners = sorted(seen.pods.rejected.items(), key=lambda one: (-one[1].count, one[0]))
    for (namespace, owner), pods in owners[:_MOST]:
        cause = f"{counted(pods.count, 'pod')} ended in UnexpectedAdmissionError"
        evidence = (f"on node {pods.node}: {pods.detail}",)
        clean = f"kubectl -n {namespace} delete pods --field-selector status.phase=Failed"
        if "maximum request size" in pods.detail or "too large" in pods.detail:
            remedy = f"ask for 1 replica per container in {owner}, then {clean}"
        else:
            remedy = f"the kubelet had no device to give, as after a restart of the node or the plugin: {clean}"
        yield Finding("pods-failed", "warning", f"{namespace}/{owner}", cause, evidence, remedy)


def _joined(seen: Seen) -> Iterator[Finding]:
    """Pods that mount the default pipe directory, and policies that mount it: such containers join an MPS daemon."""
    if seen.settings.injections.pipe_mount.mps_root == DEFAULT_PIPE:
        return
    effect = "CUDA programs in them join any MPS daemon there, with or without a GPU request"
    for policy in seen.mounting_policies:
        cause = f"it mounts {DEFAULT_PIPE} of the host into pods: {effect}"
        remedy = "remove the mount: the device plugin mounts the pipe directory of each resource itself"
        yield Finding("pipe-joins-all", "warning", policy, cause, (f"the policy names {DEFAULT_PIPE}",), remedy)
    if not seen.pods.joining:
        return
    owners = [f"{namespace}/{owner}" for namespace, owner in sorted(seen.pods.joining)]
    count = sum(one.count for one in seen.pods.joining.values())
    verb = "mounts" if count == 1 else "mount"
    cause = f"{counted(count, 'pod')} {verb} {DEFAULT_PIPE} of the host: {effect}"
    remedy = f"remove the hostPath volume of {DEFAULT_PIPE} from them: the device plugin mounts its own pipe directory"
    more = f" and {len(owners) - 1} more" if len(owners) > 1 else ""
    yield Finding("pipe-joins-all", "warning", owners[0] + more, cause, (f"owners: {listed(owners)}",), remedy)


def _pod_security(seen: Seen) -> Iterator[Finding]:
    """Namespaces with GPU pods that do not allow the mount which the settings inject, as GPS012 says of each pod."""
    mount = seen.settings.injections.pipe_mount
    if not mount.enabled or not seen.installations or not any(True for _ in seen.mps_nodes()):
        return
    exempt = {*seen.settings.exempt.namespaces, *(one.namespace for one in seen.programs)}
    levels = {one.name: one.labels.get(ENFORCE_LABEL) for one in seen.facts.namespaces or ()}
    unlabelled = seen.settings.pod_security.unlabelled
    for namespace, pods in sorted(seen.pods.asking.items()):
        level = levels.get(namespace) or unlabelled
        if namespace in levels and namespace not in exempt and level != "privileged":
            cause = f"its Pod Security level {level} forbids hostPath, so that its pods do not get {mount.mps_root}"
            evidence = (f"{counted(pods.count, 'GPU pod')}, such as {pods.detail}",)
            remedy = (
                "set injections.pipeMount.enabled: false if the device plugin runs MPS, since it mounts the directory "
                f"itself; otherwise: kubectl label namespace {namespace} {ENFORCE_LABEL}=privileged --overwrite"
            )
            yield Finding("pod-security-mount", "warning", f"namespace {namespace}", cause, evidence, remedy)


CHECKS = (
    Check("pods that the kubelet rejected", ("pods",), _rejected),
    Check("mounts of the default pipe directory", ("pods",), _joined),
    Check("Pod Security against the mount of the pipe directory", ("pods", "namespaces"), _pod_security),
)
