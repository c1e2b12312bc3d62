"""The namespace does not allow the mount of the pipe directory."""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.injections.pipe_mount import unmounted
from webhook.policy.messages import message
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.verdict import Severity, Violation


def run(context: PodContext) -> Violations:
    """One violation if a mount is due and the namespace is known to forbid hostPath."""
    if context.hostpath_allowed() is not False or not any(
        _uses_directory(context, request) for request in unmounted(context)
    ):
        return ()
    problem = message(
        "namespace {} does not allow hostPath volumes, so the MPS pipe mount was not injected", context.origin.namespace
    )
    remedy = "none needed if the device plugin runs MPS: it mounts the directory itself"
    return (Violation(context.pod.spec_path, problem, remedy),)


def _uses_directory(context: PodContext, request: ResourceRequest) -> bool:
    """Whether the container uses the directory: the variable is absent, or has the value that the webhook sets."""
    entry = request.container.variable(PIPE_DIRECTORY)
    if entry is None:
        return True
    value = entry.get("value")
    return isinstance(value, str) and clean_path(value) == context.rules.pipes[request.resource.name].clean


CHECK = Check("GPS012", Severity.WARN, Scope.MPS, run, "The namespace does not allow the mount of the pipe directory")
