"""The namespace does not allow the pipe directory's mount.

Reads: the namespace's label `pod-security.kubernetes.io/enforce`, or the hook's path, which the chart chooses by it.
Why: Pod Security's levels baseline and restricted forbid hostPath volumes, and would refuse the whole pod for ours. So
it is not injected. With the device plugin this does no harm: the plugin mounts the directory on the node.
Remedy: nothing with the device plugin; with a daemon on the host, label the namespace privileged.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.injections.pipe_mount import unmounted
from webhook.policy.pods.pod import clean_path
from webhook.policy.pods.requests import ResourceRequest
from webhook.policy.pods.variables import PIPE_DIRECTORY
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(context: PodContext) -> Claims:
    """One claim, when a mount was due and hostPath is known to be forbidden."""
    if context.hostpath_allowed() is not False or not any(_looks_there(context, ask) for ask in unmounted(context)):
        return ()
    said = message("namespace {} allows no hostPath, so the MPS pipe mount was not injected", context.origin.namespace)
    return (
        Claim(context.pod.spec_path, said, "nothing, if the device plugin runs MPS: it mounts the directory itself"),
    )


def _looks_there(context: PodContext, ask: ResourceRequest) -> bool:
    """Whether the container uses the directory: it does not set the variable, or to the right value, as we do."""
    entry = ask.container.variable(PIPE_DIRECTORY)
    if entry is None:
        return True
    value = entry.get("value")
    return isinstance(value, str) and clean_path(value) == context.rules.pipes[ask.resource.name].clean


CHECK = Check("GPS012", Severity.WARN, Scope.MPS, run, __doc__)
