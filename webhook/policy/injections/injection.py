"""An injection: a name, a function that returns the edits of a pod, and its description."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webhook.policy.context import PodContext
from webhook.policy.verdict import Edit


@dataclass(frozen=True, slots=True)
class Injection:
    """One injection. Its function holds its condition, and its edits only add.

    `description` explains it to users: a title, then Adds, Why and Not when.
    """

    name: str
    run: Callable[[PodContext], Iterable[Edit]]
    description: str

    @property
    def title(self) -> str:
        """The first line of the description."""
        return self.description.strip().partition("\n")[0].rstrip(".")
