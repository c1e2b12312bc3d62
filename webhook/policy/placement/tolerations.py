"""Tolerations: which taints they tolerate, and whether they cover every taint that another toleration would.

The rules are those of k8s.io/component-helpers scheduling/corev1 ToleratesTaint. The operators Gt and Lt compare
numbers; the configured ones never do, so such a toleration covers none of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from webhook.policy.placement.facts import Taint
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.reading import Members, text
from webhook.policy.settings.injections import Toleration
from webhook.policy.verdict import Path

Raw = Mapping[str, Any]
"""A toleration in the form of a pod's spec."""


def as_raw(toleration: Toleration) -> dict[str, str]:
    """The toleration in the form of a pod's spec, without redundant members."""
    raw = {"key": toleration.key, "operator": toleration.operator}
    if toleration.operator == "Equal" and toleration.value:
        raw["value"] = toleration.value
    if toleration.effect is not None:
        raw["effect"] = toleration.effect
    return raw


class Tolerations:
    """Tolerations indexed by what they tolerate, so that a taint takes one lookup however many there are.

    Only those whose key is among `keys`, or that name no key, are kept: the keys of taints that matter.
    """

    __slots__ = ("_keys", "_permanent", "_temporary")

    def __init__(self, keys: Container[str]) -> None:
        self._keys = keys
        self._permanent: set[tuple[str, str | None, str]] = set()
        self._temporary: set[tuple[str, str | None, str]] = set()

    def add(self, tolerations: Iterable[Members], path: Path) -> None:
        """Add the tolerations of a list at a path. Raises MalformedError."""
        for index, raw in enumerate(tolerations):
            key = raw.get("key")
            if not key or not isinstance(key, str) or key in self._keys:
                self._add(raw, (*path, index))

    def _add(self, raw: Members, path: Path) -> None:
        key, operator = text(raw, "key", path), text(raw, "operator", path) or "Equal"
        if not key and operator != "Exists":
            return
        value = text(raw, "value", path) if operator == "Equal" else None
        # Gt and Lt are taken as met: unknown must not count as "cannot land". They cover none of the configured ones.
        lasting = raw.get("tolerationSeconds") is None and operator in ("Exists", "Equal")
        (self._permanent if lasting else self._temporary).add((key, value, text(raw, "effect", path)))

    def tolerate(self, taint: Taint) -> bool:
        """Whether one of them admits a pod to a node with this taint."""
        return any(
            (key, value, effect) in tolerated
            for tolerated in (self._permanent, self._temporary)
            if tolerated
            for key, value in (("", None), (taint.key, None), (taint.key, taint.value))
            for effect in ("", taint.effect)
        )

    def cover(self, other: Raw) -> bool:
        """Whether one of them permanently tolerates every taint that this toleration does."""
        if not self._permanent:
            return False
        keys: list[tuple[str, str | None]] = [("", None), (other["key"], None)]
        if other["operator"] == "Equal":
            keys.append((other["key"], other.get("value") or ""))
        effects = {"", other.get("effect") or ""}
        return any((key, value, effect) in self._permanent for key, value in keys for effect in effects)


def tolerations_of(pod: Pod, keys: Container[str]) -> Tolerations:
    """The tolerations of a pod. Raises MalformedError."""
    tolerations = Tolerations(keys)
    tolerations.add(pod.elements("tolerations"), (*pod.spec_path, "tolerations"))
    return tolerations
