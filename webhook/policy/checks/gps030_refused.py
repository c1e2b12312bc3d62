"""The device plugin refuses a configuration, so that the nodes that use it offer no GPUs."""

from __future__ import annotations

from webhook.policy.messages import shorten
from webhook.policy.sharing.config import nearest_known, refusal
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import MESSAGE_LIMIT, Severity, Violation, Violations


def run(context: SharingConfig) -> Violations:
    """The first value that the plugin refuses. Of a release whose rules are not known, the next one speaks."""
    if context.unread is not None:
        yield context.unread
        return
    refused = refusal(context.value)
    if refused is not None:
        nearest, says = nearest_known(context.version), "the device plugin refuses this: "
        if nearest:
            says = f"{nearest} refuses this, and {shorten(context.version or '', 20)} is not known to this program: "
        problem = says + shorten(str(refused), MESSAGE_LIMIT - len(says))
        cap = Severity.WARN if nearest else Severity.DENY
        yield Violation(refused.path, problem, refused.remedy, cap)
