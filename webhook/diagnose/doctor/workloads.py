"""Findings about what pods need: runtime classes and their handlers, quotas, and mounts; and about rejected pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.diagnose.doctor.finding import Check, Finding, grouped, in_namespace, listed, several
from webhook.diagnose.doctor.seen import Seen
from webhook.diagnose.remedy import Advice, Remedy
from webhook.diagnose.words import named, reference
from webhook.diagnostics import dotted
from webhook.policy.messages import Command
from webhook.report.lines import counted

_NAME: Final = r"\"?([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)\"?"
_NO_CLASS: Final = re.compile(rf"RuntimeClass {_NAME} not found|runtimeclass(?:es)?\.node\.k8s\.io {_NAME} not found")
"""The words of the admission plugin (kubernetes plugin/pkg/admission/runtimeclass/admission.go), and of a look-up."""

_NO_HANDLER: Final = re.compile(rf"no runtime for {_NAME} is configured|find runtime handler {_NAME} from")
"""The words of containerd (internal/cri/config, `GetSandboxRuntime`) and of CRI-O (server, `getRuntimeHandler`)."""


def _classes(seen: Seen) -> Iterator[Finding]:
    """RuntimeClasses that something names and that do not exist."""
    existing = {one.name for one in seen.facts.runtime_classes or ()}
    there = f"RuntimeClasses: {listed(sorted(existing)) or 'none'}"
    naming = [(one.runtime_class, (f"DaemonSet {one}", one.namespace)) for one in seen.programs]
    # The API server lets no pod in that names a class which does not exist: it existed when that pod was created.
    naming += [(one.runtime_class, (f"pod {one.pod}", "")) for one in seen.pods if one.asks]
    for event in seen.events:
        if event.reason == "FailedCreate" and (found := _NO_CLASS.search(event.message)):
            about = f"{event.kind} {event.namespace}/{event.name}, whose pods are rejected"
            naming.append((found[1] or found[2], (about, event.namespace)))
    missing = grouped(one for one in naming if one[0] not in {"", *existing})
    for name, users in sorted(missing.items()):
        spaces = {space for _, space in users}
        remedy: Advice = "correct runtimeClassName there; or, if the cluster is meant to have the class, create it"
        if not spaces.isdisjoint({"", *seen.trust.administered}):
            word = named("runtimeclass", name)
            text = ("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: ", word, "}, handler: ")
            remedy = Remedy("write ", *text, word, "} to FILE, then ", Command("kubectl", "create", "-f", "FILE"))
        evidence = (f"named by: {listed(list(dict.fromkeys(user for user, _ in users)))}", there)
        cause = "the RuntimeClass does not exist, and the API server rejects pods that name it"
        namespaces = () if "" in spaces else tuple(spaces)
        yield Finding("runtime-class-missing", "error", f"RuntimeClass {name}", cause, evidence, remedy, namespaces)


def _handlers(seen: Seen) -> Iterator[Finding]:
    """Handlers of RuntimeClasses that the container runtime of a node does not know, as its events say.

    A tenant can write events in its own namespace. So an event counts only where the pod waits with a RuntimeClass of
    that handler, on the node to which the scheduler bound it.
    """
    handlers = {one.name: one.handler for one in seen.facts.runtime_classes or ()}
    waiting = (one for one in seen.pods if one.pod.phase == "Pending" and one.pod.node)
    pending = {(one.pod.namespace, one.pod.name): one for one in waiting}
    found = grouped(
        ((handlers[one.runtime_class], event.namespace in seen.trust.administered), one.pod)
        for event in seen.events
        if event.reason == "FailedCreatePodSandBox" and (match := _NO_HANDLER.search(event.message)) is not None
        if (one := pending.get((event.namespace, event.name))) is not None
        if handlers.get(one.runtime_class) == (match[1] or match[2])
    )
    for (handler, is_administered), pods in found.items():
        nodes = sorted({one.node for one in pods})
        cause = f"the container runtime has no handler {handler}, and pods with a RuntimeClass of it do not start"
        evidence = (f"nodes: {listed(nodes)}", f"pod {pods[0]} waits for its sandbox")
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
        namespaces = tuple({one.namespace for one in pods})
        yield Finding("runtime-handler-missing", "error", several(nodes), cause, evidence, remedy, namespaces)


def _quotas(seen: Seen) -> Iterator[Finding]:
    for one in seen.limits:
        evidence = tuple(f"{dotted(each.path)}: {each.message}" for each in one.violations[:5])
        cause = "it does not limit GPUs as it says"
        noun, subject = one.kind.lower(), f"{one.kind} {one.namespace}/{one.name}"
        edit = in_namespace(one.namespace, "edit", noun, named(noun, one.name))
        remedy = Remedy(one.violations[0].remedy, ": ", edit)
        yield Finding("quota-counts-nothing", "warning", subject, cause, evidence, remedy, (one.namespace,))


def _rejected(seen: Seen) -> Iterator[Finding]:
    """Owners of pods that ended in UnexpectedAdmissionError, the most pods first."""
    owners = grouped(((one.pod.namespace, one.pod.owner), one) for one in seen.pods if one.pod.was_rejected)
    for (space, owner), pods in sorted(owners.items(), key=lambda one: (-len(one[1]), one[0])):
        first = pods[0]
        cause = f"{counted(len(pods), 'pod')} ended in UnexpectedAdmissionError"
        evidence = (f"on node {first.pod.node}: {first.message}",)
        clean = in_namespace(space, "delete", "pods", "--field-selector", "status.phase=Failed")
        first_step = Remedy("the kubelet had no device to give, as after a restart of the node or the plugin: ")
        if "maximum request size" in first.message or "too large" in first.message:
            first_step = Remedy("ask for 1 replica per container in ", reference(*owner), ", then ")
        remedy = Remedy(first_step, clean, ", which deletes each failed pod of the namespace with its log")
        yield Finding("pods-failed", "warning", f"{space}/{owner}", cause, evidence, remedy, (space,))


def _pod_security(seen: Seen) -> Iterator[Finding]:
    """Namespaces whose Pod Security refuses what the webhook injects, mostly by a default of the API server."""
    refused = grouped(
        (event.namespace, f"{event.kind} {event.name}")
        for event in seen.events
        if "violates PodSecurity" in event.message and "gpushare-mps-" in event.message
    )
    for space, owners in refused.items():
        cause = "its Pod Security refuses pods for the hostPath volume that the webhook injects"
        evidence = (f"pods of: {listed(list(dict.fromkeys(owners)))}",)
        remedy = (
            "set podSecurity.unlabelled to the level that the API server enforces in a namespace without a label; or "
            "set injections.pipeMount.enabled: false if the device plugin runs MPS, which mounts the directory itself"
        )
        yield Finding("pod-security-mount", "error", f"namespace {space}", cause, evidence, remedy, (space,))


CLASSES = (
    Check("runtime classes", ("runtime classes", "daemonsets", "pods", "events"), _classes),
    Check("handlers of runtime classes", ("runtime classes", "pods", "events"), _handlers),
)
CHECKS = (
    Check("pods that the kubelet rejected", ("pods",), _rejected),
    Check("Pod Security against the mount of the pipe directory", ("events",), _pod_security),
    Check("quotas and limit ranges", ("quotas",), _quotas),
)
