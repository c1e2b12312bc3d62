"""A `gpushare-webhook/` annotation is malformed.

Reads: the pod's annotations `gpushare-webhook/active-thread-percentage`, `gpushare-webhook/pinned-device-memory-limit`
and `gpushare-webhook/client-priority`.
Why: the limit that the author intended would silently be missing. An unknown name with this prefix causes a warning.
Remedy: correct the value, such as `"50"`, `"0=4G,1=512M"` or `"1"`. Values are text, so a number needs quotes.
Settings: `exempt.annotation`.
"""

from __future__ import annotations

from webhook.policy.checks.check import Check, Scope, Violations
from webhook.policy.context import PodContext
from webhook.policy.pods.client_limits import ANNOTATIONS, PREFIX
from webhook.policy.verdict import Severity, Violation
from webhook.policy.wording import message

_KNOWN = {annotation.key: annotation for annotation in ANNOTATIONS}
_ONE_OF_THEM = f"use one of {', '.join(sorted(_KNOWN))}"


def run(context: PodContext) -> Violations:
    """One violation per malformed annotation."""
    return (
        violation
        for key, value in context.pod.annotations.items()
        if key.startswith(PREFIX) and (violation := _violation(context, key, value)) is not None
    )


def _violation(context: PodContext, key: str, value: object) -> Violation | None:
    path = (*context.pod.metadata_path, "annotations", key)
    known = _KNOWN.get(key)
    if known is None:
        if (context.rules.settings.exempt.annotation or "").partition("=")[0] == key:
            return None
        problem = message("annotation {} is not a gpushare-webhook annotation", key)
        return Violation(path, problem, _ONE_OF_THEM, Severity.WARN)
    try:
        known.write(value if isinstance(value, str) else "")
    except ValueError as wanted:
        problem = message("annotation {} cannot be {}", key, value)
        return Violation(path, problem, f"use {wanted}, in quotes")
    return None


CHECK = Check("GPS018", Severity.DENY, Scope.ANY, run, __doc__)
