"""Findings about what pods need: runtime classes and their handlers, quotas, and mounts; and about rejected pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.diagnose.doctor.seen import Seen, SeenPod
from webhook.diagnose.finding import MOST, Check, Finding, advice, grouped, named, reference, several
from webhook.diagnostics import dotted
from webhook.report.lines import counted, first

_FEW: Final = 3
"""Pods that are named of each owner."""


def _owners(pods: Iterable[SeenPod]) -> list[str]:
    """The topmost owners of pods, each with the number of its pods and the first of them."""
    owners = grouped(((one.pod.namespace, one.pod.owner), one.pod.name) for one in pods)
    return [
        f"pod {space}/{owner.name}"
        if owner.kind == "Pod"
        else f"{owner.kind} {space}/{owner.name} ({counted(len(names), 'pod')}: {first(names, _FEW)})"
        for (space, owner), names in owners.items()
    ]


def _classes(seen: Seen) -> Iterator[Finding]:
    """RuntimeClasses that something names and that do not exist."""
    existing = {one.name for one in seen.facts.runtime_classes or ()}
    there = f"RuntimeClasses: {first(sorted(existing)) or 'none'}"
    naming = [(one.runtime_class, (f"DaemonSet {one}", one.namespace)) for one in seen.programs]
    # The API server lets no pod in that names a class which does not exist: it existed when that pod was created.
    for name, pods in grouped((one.runtime_class, one) for one in seen.pods if one.asks).items():
        naming += [(name, (owner, "")) for owner in _owners(pods)]
    for _, space, (kind, owner), name in (one for one in seen.events if one.said == "no class"):
        naming.append((name, (f"{kind} {space}/{owner}, whose pods are rejected", space)))
    missing = grouped(one for one in naming if one[0] not in {"", *existing})
    for name, users in sorted(missing.items()):
        spaces = {space for _, space in users}
        remedy = advice("correct runtimeClassName there; or, if the cluster is meant to have the class, create it")
        if not spaces.isdisjoint({"", *seen.trust.administered}):
            remedy = advice(
                "write {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: {runtimeclass}}, handler: "
                "{runtimeclass}} to FILE, then `kubectl create -f FILE`",
                runtimeclass=name,
            )
        evidence = (f"named by: {first(list(dict.fromkeys(user for user, _ in users)))}", there)
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
        ((event.name, event.namespace in seen.trust.administered), where)
        for event in seen.events
        if event.said == "no handler" and (where := (event.namespace, event.about.name)) in pending
        if handlers.get(pending[where].runtime_class) == event.name
    )
    for (handler, is_administered), places in found.items():
        pods = [pending[where] for where in dict.fromkeys(places)]
        nodes = sorted({one.pod.node for one in pods})
        cause = f"the container runtime has no handler {handler}, and pods with a RuntimeClass of it do not start"
        evidence = (f"nodes: {first(nodes)}", f"waiting for a sandbox: {first(_owners(pods))}")
        template = "look on the node for the handler, since tenants may write such events: `containerd config dump`"
        if is_administered:
            template = (
                "on the node: `nvidia-ctk runtime configure --runtime=containerd`, and `systemctl restart containerd`, "
                "during which the node starts no container; or install the toolkit with the GPU operator"
            )
        namespaces = tuple({space for space, _ in places})
        subject = several(nodes)
        yield Finding("runtime-handler-missing", "error", subject, cause, evidence, advice(template), namespaces)


def _quotas(seen: Seen) -> Iterator[Finding]:
    for one in seen.limits:
        evidence = tuple(f"{dotted(each.path)}: {each.message}" for each in one.violations[:MOST])
        noun, subject = one.kind.lower(), f"{one.kind} {one.namespace}/{one.name}"
        remedy = advice(
            "{how}: `kubectl -n {namespace} edit {noun} {name}`",
            how=[one.violations[0].remedy],
            namespace=one.namespace,
            noun=[noun],
            name=[named(noun, one.name)],
        )
        cause = "it does not limit GPUs as it says"
        yield Finding("quota-counts-nothing", "warning", subject, cause, evidence, remedy, (one.namespace,))


_CLEAN: Final = (
    "`kubectl -n {namespace} delete pods --field-selector status.phase=Failed`, which deletes each failed pod of the "
    "namespace with its log"
)


def _rejected(seen: Seen) -> Iterator[Finding]:
    """Owners of pods that ended in UnexpectedAdmissionError, the most pods first."""
    owners = grouped(((one.pod.namespace, one.pod.owner), one) for one in seen.pods if one.pod.was_rejected)
    for (space, owner), pods in sorted(owners.items(), key=lambda one: (-len(one[1]), one[0])):
        message = pods[0].message
        cause = f"{counted(len(pods), 'pod')} ended in UnexpectedAdmissionError"
        evidence = [f"on node {pods[0].pod.node}: {message}"]
        before = "the kubelet had no device to give, as after a restart of the node or the plugin"
        if owner.kind != "Pod":
            evidence.append(f"pods: {first([one.pod.name for one in pods], _FEW)}")
            before += ": look whether other pods of the owner run, `kubectl -n {namespace} get {owner}`, then"
        else:
            before += ":"
        if "maximum request size" in message or "too large" in message:
            before = "ask for 1 replica per container in {owner}, then"
        remedy = advice(f"{before} {_CLEAN}", namespace=space, owner=[reference(*owner)])
        yield Finding("pods-failed", "warning", f"{space}/{owner}", cause, tuple(evidence), remedy, (space,))


def _pod_security(seen: Seen) -> Iterator[Finding]:
    """Namespaces whose Pod Security refuses what the webhook injects, mostly by a default of the API server."""
    refused = grouped(
        (event.namespace, f"{event.about.kind} {event.about.name}") for event in seen.events if event.said == "no mount"
    )
    for space, owners in refused.items():
        cause = "its Pod Security refuses pods for the hostPath volume that the webhook injects"
        evidence = (f"pods of: {first(list(dict.fromkeys(owners)))}",)
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
