"""The device plugin refuses a configuration, so that the nodes that use it offer no GPUs."""

from __future__ import annotations

from typing import Final

from webhook.policy.messages import shorten
from webhook.policy.sharing.config import refusal
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import MESSAGE_LIMIT, Violation, Violations


def run(context: SharingConfig) -> Violations:
    """The first value that the plugin refuses."""
    if context.unread is not None:
        yield context.unread
        return
    refused = refusal(context.value)
    if refused is not None:
        problem = shorten(str(refused), MESSAGE_LIMIT - len(_REFUSES))
        yield Violation(refused.path, _REFUSES + problem, refused.remedy)


_REFUSES: Final = "the device plugin refuses this: "
