"""An injection: a name, its condition, its edits, and its title."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webhook.policy.context import PodContext
from webhook.policy.verdict import Edit

OFF = "it is off in the settings"
NO_GPU = "the pod requests no GPU"
NO_SHARE = "the pod requests no GPU that could be shared through MPS"
"""Reasons that several injections give."""


@dataclass(frozen=True, slots=True, eq=False)
class Injection:
    """One injection. `why_not` says why it does not apply to a pod, if so; otherwise `edits` adds what is missing.

    `reasons` holds all texts that `why_not` returns. `title` says in a line what it adds; the page beside the module
    explains it to users. Each exists once, so they are compared by identity.
    """

    name: str
    why_not: Callable[[PodContext], str | None]
    edits: Callable[[PodContext], Iterable[Edit]]
    reasons: tuple[str, ...]
    title: str
