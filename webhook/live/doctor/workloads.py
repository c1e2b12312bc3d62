"""Findings about pods: those that the kubelet rejected, and mounts that reach an MPS daemon or are not allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.live import words
from webhook.live.doctor.finding import Check, Finding, in_namespace, listed
from webhook.live.doctor.seen import Seen
from webhook.live.remedy import Remedy
from webhook.policy.commands import Command
from webhook.policy.snapshot import ENFORCE_LABEL
from webhook.report.lines import counted

DEFAULT_PIPE: Final = "/tmp/nvidia-mps"  # noqa: S108 - the pipe directory of CUDA without the variable


def _rejected(seen: Seen) -> Iterator[Finding]:
    """Owners of pods that ended in UnexpectedAdmissionError, the most pods first."""
    owners = sorted(seen.pods.rejected.items(), key=lambda one: (-one[1].count, one[0]))
    for (namespace, owner), pods in owners:
        cause = f"{counted(pods.count, 'pod')} ended in UnexpectedAdmissionError"
        evidence = (f"on node {pods.node}: {pods.detail}",)
        clean = in_namespace(namespace, "delete", "pods", "--field-selector", "status.phase=Failed")
        lost = ", which deletes each failed pod of the namespace with its log"
        if "maximum request size" in pods.detail or "too large" in pods.detail:
            remedy = Remedy("ask for 1 replica per container in ", words.reference(*owner), ", then ", clean, lost)
        else:
            no_device = "the kubelet had no device to give, as after a restart of the node or the plugin: "
            remedy = Remedy(no_device, clean, lost)
        subject = f"{namespace}/{owner}"
        yield Finding("pods-failed", "warning", subject, cause, evidence, remedy, (namespace,))


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
    evidence, namespaces = (f"owners: {listed(owners)}",), tuple(namespace for namespace, _ in seen.pods.joining)
    yield Finding("pipe-joins-all", "warning", owners[0] + more, cause, evidence, remedy, namespaces)


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
            allow = words.label(ENFORCE_LABEL, "privileged")
            remedy = Remedy(
                "set injections.pipeMount.enabled: false if the device plugin runs MPS, since it mounts the directory "
                "itself; otherwise: ",
                Command("kubectl", "label", "namespace", words.namespace(namespace), allow, "--overwrite"),
                ", which lets everyone who may create pods there become root on the nodes",
            )
            subject = f"namespace {namespace}"
            yield Finding("pod-security-mount", "warning", subject, cause, evidence, remedy, (namespace,))


CHECKS = (
    Check("pods that the kubelet rejected", ("pods",), _rejected),
    Check("mounts of the default pipe directory", ("pods",), _joined),
    Check("Pod Security against the mount of the pipe directory", ("pods", "namespaces"), _pod_security),
)
