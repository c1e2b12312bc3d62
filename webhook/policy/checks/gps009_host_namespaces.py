"""The pod shares or splits namespaces in a way that does not go with MPS.

Reads: `hostUsers`, `hostIPC` and `hostPID`.
Why: with `hostUsers: false` every pod is another user for the MPS daemon, so that pods take turns. `hostIPC` and
`hostPID` are not needed: the device plugin mounts what clients share. They only open the host.
Remedy: leave the fields out.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.verdict import Claim, Severity


def run(context: PodContext) -> Claims:
    """One claim a field."""
    claims: list[Claim] = []
    path, spec = context.pod.spec_path, context.pod.spec
    if spec.get("hostUsers") is False:
        said = "hostUsers: false makes every pod another user for MPS, so that pods wait for each other"
        claims.append(Claim((*path, "hostUsers"), said, "leave hostUsers out"))
    if spec.get("hostIPC") is True and not context.rules.settings.users.host_ipc:
        said = "hostIPC: true is not needed for MPS and opens the host's memory segments"
        claims.append(Claim((*path, "hostIPC"), said, "leave hostIPC out"))
    if spec.get("hostPID") is True:
        said = "hostPID: true is for the MPS control daemon, not for its clients"
        claims.append(Claim((*path, "hostPID"), said, "leave hostPID out"))
    return claims


CHECK = Check("GPS009", Severity.WARN, Scope.MPS, run, __doc__)
