"""The namespace does not allow the pipe directory's mount.

Reads: the namespace's label `pod-security.kubernetes.io/enforce`, or the hook's path, which the chart chooses by it.
Why: Pod Security's levels baseline and restricted forbid hostPath volumes, and would refuse the whole pod for ours. So
it is not injected. With the device plugin this does no harm: the plugin mounts the directory on the node.
Remedy: nothing with the device plugin; with a daemon on the host, label the namespace privileged.
"""

from __future__ import annotations

from webhook.policy.case import Case
from webhook.policy.check import Check, Claims, Scope
from webhook.policy.injections.pipe_mount import unmounted
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message


def run(case: Case) -> Claims:
    """One claim, when a mount was due and hostPath is known to be forbidden."""
    if case.hostpath_allowed() is not False or not unmounted(case):
        return ()
    said = message("namespace {} allows no hostPath, so the MPS pipe mount was not injected", case.origin.namespace)
    return (Claim(case.pod.spec_path, said, "nothing, if the device plugin runs MPS: it mounts the directory itself"),)


CHECK = Check("GPS012", Severity.WARN, Scope.MPS, run, __doc__)
