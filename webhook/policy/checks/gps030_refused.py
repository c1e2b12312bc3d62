"""The device plugin refuses a configuration, so that the nodes that use it offer no GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.policy.checks.check import Check, Scope
from webhook.policy.messages import MESSAGE_LIMIT, shorten
from webhook.policy.sharing.config import refusals
from webhook.policy.sharing.context import SharingConfig
from webhook.policy.verdict import Severity, Violation


def run(context: SharingConfig) -> Iterator[Violation]:
    """The first value that the plugin refuses. It only warns where some releases alone refuse it."""
    if context.unread is not None:
        yield context.unread
        return
    found = refusals(context.value, context.version)
    if found is not None:
        plugin = f"the device plugin {found.releases}" if found.releases else "the device plugin"
        cap = Severity.WARN if found.releases else Severity.DENY
        yield Violation(found.path, _about(f"{plugin} refuses this: ", found.problem), found.remedy, cap)


def _about(start: str, problem: str) -> str:
    return start + shorten(problem, MESSAGE_LIMIT - len(start))


CHECK = Check(
    "GPS030",
    Severity.DENY,
    Scope.SHARING_CONFIG,
    run,
    "The device plugin refuses its configuration, and its nodes offer no GPUs",
)
