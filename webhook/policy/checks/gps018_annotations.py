"""An annotation of ours is malformed.

Reads: the pod's annotations `gpushare-webhook/active-thread-percentage`, `gpushare-webhook/pinned-device-memory-limit`
and `gpushare-webhook/client-priority`.
Why: the limit that its author wanted would silently not be there. A name of ours that we do not know is a warning.
Remedy: correct the value, such as `"50"`, `"0=4G,1=512M"` or `"1"`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Claims, Scope
from webhook.policy.context import PodContext
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX
from webhook.policy.verdict import Claim, Severity
from webhook.policy.wording import message

_KNOWN = {annotation.key: annotation for annotation in ANNOTATIONS}
_ONE_OF_THEM = f"use one of {', '.join(sorted(_KNOWN))}"


def run(context: PodContext) -> Claims:
    """One claim a malformed annotation."""
    return (
        claim
        for key, value in context.pod.annotations.items()
        if key.startswith(PREFIX) and (claim := _claim(context, key, value)) is not None
    )


def _claim(context: PodContext, key: str, value: object) -> Claim | None:
    path = (*context.pod.metadata_path, "annotations", key)
    known = _KNOWN.get(key)
    if known is None:
        if (context.rules.settings.exempt.annotation or "").partition("=")[0] == key:
            return None
        said = message("annotation {} is none of ours", key)
        return Claim(path, said, _ONE_OF_THEM, Severity.WARN)
    try:
        known.write(value if isinstance(value, str) else "")
    except ValueError as wanted:
        said = message("annotation {} cannot be {}", key, value)
        return Claim(path, said, f"give {wanted}, in quotes")
    return None


CHECK = Check("GPS018", Severity.DENY, Scope.ANY, run, __doc__)
