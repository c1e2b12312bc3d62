"""Findings about what pods need: runtime classes and their handlers, quotas, and mounts; and about rejected pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.cluster.stack import Role
from webhook.diagnose.doctor.finding import Check, Finding, grouped, in_namespace, listed, several
from webhook.diagnose.doctor.seen import DEFAULT_PIPE, Seen, SeenPod
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import label, named, namespace, reference
from webhook.diagnostics import dotted
from webhook.policy.commands import Command
from webhook.policy.snapshot import ENFORCE_LABEL
from webhook.report.lines import counted

_NAME: Final = r"\"?([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)\"?"
_NO_CLASS: Final = re.compile(rf"RuntimeClass {_NAME} not found|runtimeclass(?:es)?\.node\.k8s\.io {_NAME} not found")
"""The words of the admission plugin (kubernetes plugin/pkg/admission/runtimeclass/admission.go), and of a look-up."""

_NO_HANDLER: Final = re.compile(rf"no runtime for {_NAME} is configured|find runtime handler {_NAME} from")
"""The words of containerd (internal/cri/config, `GetSandboxRuntime`) and of CRI-O (server, `getRuntimeHandler`)."""


def asking(seen: Seen) -> dict[str, list[SeenPod]]:
    """The pods that ask for GPUs, by namespace."""
    return grouped((one.pod.namespace, one) for one in seen.pods if one.asks)


def _classes(seen: Seen) -> Iterator[Finding]:
    """RuntimeClasses that something names and that do not exist."""
    existing = {one.name for one in seen.facts.runtime_classes or ()}
    there = f"RuntimeClasses: {listed(sorted(existing)) or 'none'}"
    naming = [(one.runtime_class, f"DaemonSet {one}", one.namespace) for one in seen.programs]
    of_pods = grouped((one.runtime_class, one) for one in seen.pods if one.asks)
    for name, pods in of_pods.items():
        # The API server lets no pod in that names a class which does not exist: it existed when that pod was created.
        naming.append((name, f"pod {pods[0].pod}" + (f" and {len(pods) - 1} more" if pods[1:] else ""), ""))
    for event in seen.events:
        if event.reason == "FailedCreate" and (found := _NO_CLASS.search(event.message)):
            about = f"{event.kind} {event.namespace}/{event.name}, whose pods are rejected"
            naming.append((found[1] or found[2], about, event.namespace))
    users = grouped((name, (user, space)) for name, user, space in naming if name not in {"", *existing})
    for name, those in sorted(users.items()):
        by_user = dict(those)
        namespaces = () if name in of_pods else tuple(by_user.values())
        remedy: Advice = "correct runtimeClassName there; or, if the cluster is meant to have the class, create it"
        if seen.trust.administered.intersection(namespaces) or not namespaces:
            remedy = _create(name)
        evidence = (f"named by: {listed(list(by_user))}", there)
        cause = "the RuntimeClass does not exist, and the API server rejects pods that name it"
        yield Finding("runtime-class-missing", "error", f"RuntimeClass {name}", cause, evidence, remedy, namespaces)
    classes = {
        one.settings.injections.runtime_class.name
        for one in seen.installations
        if one.settings is not None and one.settings.injections.runtime_class.enabled
    }
    injected = next(iter(sorted(classes)), None)
    # Pods need no class where those of the plugin have none.
    is_needed = {one.runtime_class for one in seen.of(Role.PLUGIN)} != {""}
    if injected is not None and is_needed and injected not in {*existing, *users}:
        cause = "the webhook injects this RuntimeClass, which does not exist, so that pods get no class"
        without = "; or set injections.runtimeClass.enabled: false if pods get the driver without it"
        advice = Remedy(_create(injected), without)
        yield Finding("runtime-class-missing", "warning", f"RuntimeClass {injected}", cause, (there,), advice)


def _create(name: str) -> Remedy:
    word = named("runtimeclass", name)
    manifest = ("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: ", word, "}, handler: ", word, "}")
    return Remedy("write ", *manifest, " to FILE, then ", Command("kubectl", "create", "-f", "FILE"))


def _handlers(seen: Seen) -> Iterator[Finding]:
    """Handlers of RuntimeClasses that the container runtime of a node does not know, as its events say.

    A tenant can write events in its own namespace. So an event counts only where the pod waits with a RuntimeClass of
    that handler, on the node to which the scheduler bound it.
    """
    handlers = {one.name: one.handler for one in seen.facts.runtime_classes or ()}
    pending = {(one.pod.namespace, one.pod.name): one for one in seen.pods if one.pod.phase == "Pending"}
    found: dict[tuple[str, bool], dict[str, SeenPod]] = {}
    for event in seen.events:
        match, pod = _NO_HANDLER.search(event.message), pending.get((event.namespace, event.name))
        if event.reason != "FailedCreatePodSandBox" or match is None or pod is None:
            continue
        handler = match[1] or match[2]
        if pod.pod.node and handlers.get(pod.runtime_class) == handler:
            key = handler, event.namespace in seen.trust.administered
            found.setdefault(key, {}).setdefault(pod.pod.node, pod)
    for (handler, is_administered), pods in found.items():
        nodes = sorted(pods)
        cause = f"the container runtime has no handler {handler}, and pods with a RuntimeClass of it do not start"
        evidence = (f"nodes: {listed(nodes)}", f"pod {pods[nodes[0]].pod} waits for its sandbox")
        dump = Command("containerd", "config", "dump")
        remedy = Remedy("look on the node for the handler, since tenants may write such events: ", dump)
        if is_administered:
            remedy = Remedy(
                "on the node: ",
                Command("nvidia-ctk", "runtime", "configure", "--runtime=containerd"),
                ", and ",
                Command("systemctl", "restart", "containerd"),
                ", during which the node starts no container; or install the toolkit with the GPU operator",
            )
        namespaces = tuple(one.pod.namespace for one in pods.values())
        yield Finding("runtime-handler-missing", "error", several(nodes), cause, evidence, remedy, namespaces)


def _quotas(seen: Seen) -> Iterator[Finding]:
    for one in seen.limits:
        evidence = tuple(f"{dotted(each.path)}: {each.message}" for each in one.violations[:5])
        cause = "it does not limit GPUs as it says" if one.kind == "ResourceQuota" else "it gives or denies GPUs"
        noun, subject = one.kind.lower(), f"{one.kind} {one.namespace}/{one.name}"
        edit = in_namespace(one.namespace, "edit", noun, named(noun, one.name))
        remedy = Remedy(one.violations[0].remedy, ": ", edit)
        yield Finding("quota-counts-nothing", "warning", subject, cause, evidence, remedy, (one.namespace,))


def _rejected(seen: Seen) -> Iterator[Finding]:
    """Owners of pods that ended in UnexpectedAdmissionError, the most pods first."""
    owners = grouped((one.owner, one) for one in seen.pods if one.pod.was_rejected)
    for (space, owner), pods in sorted(owners.items(), key=lambda one: (-len(one[1]), one[0])):
        first = pods[0]
        cause = f"{counted(len(pods), 'pod')} ended in UnexpectedAdmissionError"
        evidence = (f"on node {first.pod.node}: {first.message}",)
        clean = in_namespace(space, "delete", "pods", "--field-selector", "status.phase=Failed")
        lost = ", which deletes each failed pod of the namespace with its log"
        if "maximum request size" in first.message or "too large" in first.message:
            remedy = Remedy("ask for 1 replica per container in ", reference(*owner), ", then ", clean, lost)
        else:
            no_device = "the kubelet had no device to give, as after a restart of the node or the plugin: "
            remedy = Remedy(no_device, clean, lost)
        yield Finding("pods-failed", "warning", f"{space}/{owner}", cause, evidence, remedy, (space,))


def _joined(seen: Seen) -> Iterator[Finding]:
    """Pods that mount the default pipe directory, and policies that mount it: such containers join an MPS daemon."""
    if seen.settings.injections.pipe_mount.mps_root == DEFAULT_PIPE:
        return
    effect = "CUDA programs in them join any MPS daemon there, with or without a GPU request"
    for policy in seen.mounting:
        cause = f"it mounts {DEFAULT_PIPE} of the host into pods: {effect}"
        remedy = "remove the mount: the device plugin mounts the pipe directory of each resource itself"
        yield Finding("pipe-joins-all", "warning", policy, cause, (f"the policy names {DEFAULT_PIPE}",), remedy)
    joining = [one.owner for one in seen.pods if one.joins]
    if joining:
        owners = [f"{space}/{owner}" for space, owner in sorted(set(joining))]
        verb = "mounts" if len(joining) == 1 else "mount"
        cause = f"{counted(len(joining), 'pod')} {verb} {DEFAULT_PIPE} of the host: {effect}"
        remedy = f"remove the hostPath volume of {DEFAULT_PIPE} from them: "
        remedy += "the device plugin mounts its own pipe directory"
        evidence, namespaces = (f"owners: {listed(owners)}",), tuple(space for space, _ in joining)
        yield Finding("pipe-joins-all", "warning", several(owners), cause, evidence, remedy, namespaces)


def _pod_security(seen: Seen) -> Iterator[Finding]:
    """Namespaces with GPU pods that do not allow the mount which the settings inject, as GPS012 says of each pod."""
    mount = seen.settings.injections.pipe_mount
    if not mount.enabled or not seen.installations or not any(seen.mps_nodes()):
        return
    exempt = {*seen.settings.exempt.namespaces, *(one.namespace for one in seen.programs)}
    levels = {one.name: one.labels.get(ENFORCE_LABEL) for one in seen.facts.namespaces or ()}
    for space, pods in sorted(asking(seen).items()):
        level = levels.get(space) or seen.settings.pod_security.unlabelled
        if space in levels and space not in exempt and level != "privileged":
            cause = f"its Pod Security level {level} forbids hostPath, so that its pods do not get {mount.mps_root}"
            evidence = (f"{counted(len(pods), 'GPU pod')}, such as {pods[0].pod}",)
            allow = label(ENFORCE_LABEL, "privileged")
            remedy = Remedy(
                "set injections.pipeMount.enabled: false if the device plugin runs MPS, since it mounts the directory "
                "itself; otherwise: ",
                Command("kubectl", "label", "namespace", namespace(space), allow, "--overwrite"),
                ", which lets everyone who may create pods there become root on the nodes",
            )
            yield Finding("pod-security-mount", "warning", f"namespace {space}", cause, evidence, remedy, (space,))


CLASSES = (
    Check("runtime classes", ("runtime classes", "daemonsets", "pods", "events"), _classes),
    Check("handlers of runtime classes", ("runtime classes", "pods", "events"), _handlers),
)
CHECKS = (
    Check("mounts of the default pipe directory", ("pods",), _joined),
    Check("pods that the kubelet rejected", ("pods",), _rejected),
    Check("Pod Security against the mount of the pipe directory", ("pods", "namespaces"), _pod_security),
    Check("quotas and limit ranges", ("quotas",), _quotas),
)
