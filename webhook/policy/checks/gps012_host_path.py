"""The namespace does not allow the mount of the pipe directory."""

from __future__ import annotations

from webhook.policy.checks.check import variable
from webhook.policy.context import PodContext
from webhook.policy.injections.pipe_mount import unmounted
from webhook.policy.pods.pod import PIPE_DIRECTORY, clean_path
from webhook.policy.verdict import Violation, Violations, message


def run(context: PodContext) -> Violations:
    """One violation if a mount is due and the namespace is known to forbid hostPath.

    The device plugin, which has a directory for each resource, mounts it itself; a daemon on the host has but one.
    """
    if context.policy.injections.pipe_directory.per_resource or context.hostpath_allowed() is not False:
        return
    for request in unmounted(context):
        container, pipe = request.container, context.policy.pipes[request.resource.name]
        path, value = variable(container, PIPE_DIRECTORY)
        if not path or (value is not None and clean_path(value) == pipe.clean):  # the container uses the directory
            problem = "namespace {} does not allow hostPath volumes, so the MPS pipe mount was not injected"
            remedy = "use a namespace of the Pod Security level privileged"
            yield Violation(context.pod.spec_path, message(problem, context.origin.namespace), remedy)
            return
