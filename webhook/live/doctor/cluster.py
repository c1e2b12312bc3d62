"""Findings about objects of the whole cluster: runtime classes and their handlers, quotas, and joined MPS daemons."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from webhook.diagnostics import dotted
from webhook.live.doctor.finding import Check, Finding, listed, several
from webhook.live.doctor.seen import Role, Seen
from webhook.policy.checks import gps032_quota
from webhook.policy.context import ManifestObject, NamespaceLimits
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
    users: dict[str, list[str]] = defaultdict(list)
    for program in seen.programs:
        users[program.runtime_class].append(f"DaemonSet {program}")
    for name, pods in seen.pods.classes.items():
        users[name].append(f"pod {pods.detail}" + (f" and {pods.count - 1} more" if pods.count > 1 else ""))
    for event in seen.events:
        if event.reason == "FailedCreate" and (found := _NO_CLASS.search(event.message)):
            about = f"{event.kind} {event.namespace}/{event.name}, whose pods are rejected"
            name = found[1] or found[2]
            users[name] += [] if about in users[name] else [about]
    for name in sorted(users.keys() - existing - {""}):
        evidence = (f"named by: {listed(users[name])}", f"RuntimeClasses: {listed(sorted(existing)) or 'none'}")
        cause = "the RuntimeClass does not exist, and the API server rejects pods that name it"
        yield Finding("runtime-class-missing", "error", f"RuntimeClass {name}", cause, evidence, _create(name))
    injected = _injected_class(seen)
    if injected is not None and injected not in existing and injected not in users:
        cause = "the webhook injects this RuntimeClass, which does not exist, so that pods get no class"
        there = f"RuntimeClasses: {listed(sorted(existing)) or 'none'}"
        remedy = f"{_create(injected)}; or set injections.runtimeClass.enabled: false if pods get the driver without it"
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


def _create(name: str) -> str:
    manifest = f"{{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {{name: {name}}}, handler: {name}}}"
    return f"echo '{manifest}' | kubectl create -f -"


def _handlers(seen: Seen) -> Iterator[Finding]:
    """Handlers of RuntimeClasses that the container runtime of a node does not know, as its events say."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for event in seen.events:
        if event.reason != "FailedCreatePodSandBox" or not (named := _NO_HANDLER.search(event.message)):
            continue
        if "pods" in seen.lacking or (event.namespace, event.name) in seen.pods.pending:
            found[named[1] or named[2]].setdefault(event.host or "an unknown node", f"{event.namespace}/{event.name}")
    for handler, pods in found.items():
        nodes = sorted(pods)
        cause = f"the container runtime has no handler {handler}, and pods with a RuntimeClass of it do not start"
        evidence = (f"nodes: {listed(nodes)}", f"pod {pods[nodes[0]]} waits for its sandbox")
        remedy = (
            "on the node: nvidia-ctk runtime configure --runtime=containerd, and systemctl restart containerd; or "
            "install the toolkit with the GPU operator"
        )
        yield Finding("runtime-handler-missing", "error", several(nodes), cause, evidence, remedy)


def _quotas(seen: Seen) -> Iterator[Finding]:
    gpus = GpuResources(seen.settings.resources)
    offered = {name for node in seen.nodes for name in node.offered}
    for one in seen.limits:
        try:
            held = ManifestObject(dict(one.manifest), "", one.kind)
            violations = list(gps032_quota.run(NamespaceLimits(held, gpus, offered)))
        except MalformedError:  # the API server checks both kinds
            continue
        if violations:
            subject = f"{one.kind} {one.namespace}/{one.name}"
            evidence = tuple(f"{dotted(each.path)}: {each.message}" for each in violations[:5])
            cause = "it does not limit GPUs as it says" if one.kind == "ResourceQuota" else "it gives or denies GPUs"
            edit = f"kubectl -n {one.namespace} edit {one.kind.lower()} {one.name}"
            remedy = f"{violations[0].remedy}: {edit}"
            yield Finding("quota-counts-nothing", "warning", subject, cause, evidence, remedy)


CHECKS = (
    Check("runtime classes", ("runtime classes", "daemonsets", "pods", "events"), _classes),
    Check("handlers of runtime classes", ("events",), _handlers),
    Check("quotas and limit ranges", ("quotas",), _quotas),
)
