"""Tolerations: which taints one covers, and whether one covers all that another would.

The rules are those of k8s.io/component-helpers scheduling/corev1 ToleratesTaint. The operators Gt and Lt compare
numbers; ours never do, so such a toleration covers none of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.policy.facts import Taint
from webhook.policy.injection_settings import Toleration

Raw = Mapping[str, Any]
"""A toleration as a pod carries it."""


def as_raw(toleration: Toleration) -> dict[str, str]:
    """The toleration as a pod carries it, without members that say nothing."""
    raw = {"key": toleration.key, "operator": toleration.operator}
    if toleration.operator == "Equal" and toleration.value:
        raw["value"] = toleration.value
    if toleration.effect is not None:
        raw["effect"] = toleration.effect
    return raw


def covers(existing: Raw, ours: Raw) -> bool:
    """Whether every taint that ours tolerates is tolerated, for as long, by the existing one."""
    if existing.get("tolerationSeconds") is not None:
        return False  # it covers NoExecute for a while only, and is valid with no other effect
    if existing.get("effect") and existing.get("effect") != ours.get("effect"):
        return False
    operator = existing.get("operator") or "Equal"
    if not existing.get("key"):
        return operator == "Exists"
    if existing.get("key") != ours.get("key"):
        return False
    if operator == "Exists":
        return True
    return operator == "Equal" == ours.get("operator") and (existing.get("value") or "") == (ours.get("value") or "")


def tolerates(toleration: Raw, taint: Taint) -> bool:
    """Whether the toleration lets a pod onto a node with this taint."""
    if toleration.get("effect") and toleration.get("effect") != taint.effect:
        return False
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key"):
        return operator == "Exists"
    if toleration.get("key") != taint.key:
        return False
    if operator == "Equal":
        return (toleration.get("value") or "") == taint.value
    # Gt and Lt are taken as met: unknown must not count as "cannot land".
    return True


def blocks(taints: Iterable[Taint], tolerations: Iterable[Raw], effects: frozenset[str]) -> bool:
    """Whether a taint with one of the effects is tolerated by none."""
    held = list(tolerations)
    return any(
        taint.effect in effects and not any(tolerates(toleration, taint) for toleration in held) for taint in taints
    )
