"""The runtime class does not suit the pod."""

from __future__ import annotations

from webhook.policy.context import PodContext
from webhook.policy.injections.runtime_class import (
    ClassObstacle,
    contradicts,
    is_sandbox,
    obstacle,
    plugin_class,
)
from webhook.policy.messages import printable
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """At most two violations, about the pod's own class or the configured one."""
    if context.pod.spec.get("runtimeClassName") is None:
        yield from _configured(context)
        return
    path = context.pod.path_of("runtimeClassName")
    name = context.pod.text("runtimeClassName")
    if context.is_replaced(name):
        return
    known = context.runtime_class(name)
    if known is None and context.policy.facts.runtime_classes is not None:
        problem = message("RuntimeClass {} does not exist; the API server rejects the pod", name)
        yield Violation(path, problem, "name an existing class, or omit it")
    elif known is not None and contradicts(context, known):
        problem = message("the node selector of RuntimeClass {} contradicts the pod's", name)
        yield Violation(path, problem, "make the pod's nodeSelector agree with the class")
    if context.mps_requests and is_sandbox(context, name) and context.shows_mps:
        problem = message("RuntimeClass {} is a sandbox in which MPS does not work", name)
        yield Violation(path, problem, "name a class without a sandbox")


def _configured(context: PodContext) -> Violations:
    if not context.policy.injections.runtime_class.enabled:
        own = plugin_class(context)
        # The runtimes of OpenShift have hooks and need no class: its profile turns the mount off as well.
        if not own or context.policy.injects_by_cdi or not context.policy.injections.pipe_mount.enabled:
            return ()
        said = message("the device plugin runs under RuntimeClass {}, and the pod under none", own)
        advice = f"set runtimeClassName: {printable(own)}, unless the runtime of the nodes needs no class"
        return (Violation(context.pod.spec_path, said, advice),)
    reason = obstacle(context)
    reported = _OBSTACLES.get(reason)
    if reported is None or (reason is ClassObstacle.MISSING and _is_unneeded(context)):
        return ()
    problem, remedy = reported
    path = context.pod.path_of("nodeSelector") if reason is ClassObstacle.CONTRADICTS else context.pod.spec_path
    return (Violation(path, message(problem, context.policy.injected_class), remedy),)


def _is_unneeded(context: PodContext) -> bool:
    """Whether GPU pods need no class: the device plugin runs without one, or nodes offer GPUs where no class exists.

    The plugin finds the cards of a node with the NVIDIA runtime alone, which is then the default one
    (awslabs/amazon-eks-ami nodeadm/internal/containerd/runtime_config_nvidia.go, Azure/AgentBaker
    parser/templates/containerd.toml.gtpl), or CDI adds the devices (NVIDIA/gpu-operator, with NRI).
    """
    facts, index = context.policy.facts, context.placement.cluster.index
    if facts.device_plugin is not None and facts.device_plugin.runtime_class == "":
        return True
    return not facts.runtime_classes and any(index.offering(name, 1) for name in context.requests.peaks)


_OBSTACLES: dict[ClassObstacle | None, tuple[str, str]] = {
    ClassObstacle.MISSING: (
        "RuntimeClass {} does not exist in the cluster, so it was not injected",
        "create it, or set injections.runtimeClass.name, or turn runtimeClass off where no pod needs it",
    ),
    ClassObstacle.CONTRADICTS: (
        "the node selector of RuntimeClass {} contradicts the pod's; it was not injected",
        "make the pod's nodeSelector agree with the class",
    ),
    ClassObstacle.SANDBOX: (
        "RuntimeClass {} is a sandbox in which MPS does not work; it was not injected",
        "set injections.runtimeClass.name to a class without a sandbox",
    ),
}
"""The message and remedy of each obstacle."""
