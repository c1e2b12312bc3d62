"""Findings about objects of the whole cluster: runtime classes and their handlers, quotas, and joined MPS daemons."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from webhook.cluster.stack import Role
from webhook.diagnostics import dotted
from webhook.live.doctor.finding import Check, Finding, in_namespace, listed, several
from webhook.live.doctor.seen import Seen
from webhook.live.remedy import Advice, Remedy
from webhook.live.words import named
from webhook.policy.checks import gps032_quota
from webhook.policy.commands import Command
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.pods.reading import MalformedError

_NAME: Final = r"\"?([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)\"?"
_NO_CLASS: Final = re.compile(rf"RuntimeClass {_NAME} not found|runtimeclass(?:es)?\.node\.k8s\.io {_NAME} not found")
"""The words of the admission plugin (kubernetes plugin/pkg/admission/runtimeclass/admission.go), and of a look-up."""

_NO_HANDLER: Final = re.compile(rf"no runtime for {_NAME} is configured|find runtime handler {_NAME} from")
"""The words of containerd (internal/cri/config, `GetSandboxRuntime`) and of CRI-O (server, `getRuntimeHandler`)."""


def _classes(seen: Seen) -> Iterator[Finding]:
    """RuntimeClasses that something names and that do not exist."""
    existing = {one.name for one in seen.facts.runtime_classes or ()}
    users: dict[str, dict[str, str]] = defaultdict(dict)
    for program in seen.programs:
        users[program.runtime_class][f"DaemonSet {program}"] = program.namespace
    for name, pods in seen.pods.classes.items():
        users[name][f"pod {pods.detail}" + (f" and {pods.count - 1} more" if pods.count > 1 else "")] = ""
    for event in seen.events:
        if event.reason == "FailedCreate" and (found := _NO_CLASS.search(event.message)):
            about = f"{event.kind} {event.namespace}/{event.name}, whose pods are rejected"
            users[found[1] or found[2]][about] = event.namespace
    for name in sorted(users.keys() - existing - {""}):
        evidence = (f"named by: {listed(list(users[name]))}", f"RuntimeClasses: {listed(sorted(existing)) or 'none'}")
        cause = "the RuntimeClass does not exist, and the API server rejects pods that name it"
        # The API server lets no pod in that names a class which does not exist: it existed when that pod was created.
        namespaces = () if name in seen.pods.classes else tuple(users[name].values())
        remedy: Advice = "correct runtimeClassName there; or, if the cluster is meant to have the class, create it"
        if seen.trust.administered.intersection(namespaces) or not namespaces:
            remedy = _create(name)
        yield Finding("runtime-class-missing", "error", f"RuntimeClass {name}", cause, evidence, remedy, namespaces)
    injected = _injected_class(seen)
    if injected is not None and injected not in existing and injected not in users:
        cause = "the webhook injects this RuntimeClass, which does not exist, so that pods get no class"
        there = f"RuntimeClasses: {listed(sorted(existing)) or 'none'}"
        without = "; or set injections.runtimeClass.enabled: false if pods get the driver without it"
        remedy = Remedy(_create(injected), without)
        yield Finding("runtime-class-missing", "warning", f"RuntimeClass {injected}", cause, (there,), remedy)


def _injected_class(seen: Seen) -> str | None:
    """The class that the webhook injects; None where pods need none, as the pods of the plugin show."""
    classes = {one.runtime_class for one in seen.of(Role.PLUGIN)}
    names = {
        one.settings.injections.runtime_class.name
        for one in seen.installations
        if one.settings is not None and one.settings.injections.runtime_class.enabled
    }
    return next(iter(sorted(names)), None) if classes != {""} else None


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
    found: dict[tuple[str, bool], dict[str, tuple[str, str]]] = defaultdict(dict)
    for event in seen.events:
        if event.reason != "FailedCreatePodSandBox" or not (named := _NO_HANDLER.search(event.message)):
            continue
        handler, pod = named[1] or named[2], (event.namespace, event.name)
        node, runtime_class = seen.pods.pending.get(pod, ("", ""))
        if node and handlers.get(runtime_class) == handler:
            found[handler, event.namespace in seen.trust.administered].setdefault(node, pod)
    for (handler, is_administered), pods in found.items():
        nodes = sorted(pods)
        cause = f"the container runtime has no handler {handler}, and pods with a RuntimeClass of it do not start"
        evidence = (f"nodes: {listed(nodes)}", f"pod {'/'.join(pods[nodes[0]])} waits for its sandbox")
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
        namespaces = tuple(namespace for namespace, _ in pods.values())
        yield Finding("runtime-handler-missing", "error", several(nodes), cause, evidence, remedy, namespaces)


def _quotas(seen: Seen) -> Iterator[Finding]:
    gpus = GpuResources(seen.settings.resources)
    offered = {name for node in seen.nodes for name in node.offered}
    for one in seen.limits:
        try:
            limits = gps032_quota.NamespaceLimits(dict(one.manifest), one.kind, gpus, offered)
            violations = list(gps032_quota.run(limits))
        except MalformedError:  # the API server checks both kinds
            continue
        if violations:
            subject = f"{one.kind} {one.namespace}/{one.name}"
            evidence = tuple(f"{dotted(each.path)}: {each.message}" for each in violations[:5])
            cause = "it does not limit GPUs as it says" if one.kind == "ResourceQuota" else "it gives or denies GPUs"
            noun = one.kind.lower()
            edit = in_namespace(one.namespace, "edit", noun, named(noun, one.name))
            remedy, namespaces = Remedy(violations[0].remedy, ": ", edit), (one.namespace,)
            yield Finding("quota-counts-nothing", "warning", subject, cause, evidence, remedy, namespaces)


CHECKS = (
    Check("runtime classes", ("runtime classes", "daemonsets", "pods", "events"), _classes),
    Check("handlers of runtime classes", ("runtime classes", "pods", "events"), _handlers),
    Check("quotas and limit ranges", ("quotas",), _quotas),
)
