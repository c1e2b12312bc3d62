"""What an injection is: a name, a function from a case to edits, and an explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webhook.policy.context import PodContext
from webhook.policy.verdict import Edit


@dataclass(frozen=True, slots=True)
class Injection:
    """One injection. It owns its condition; its edits only add."""

    name: str
    run: Callable[[PodContext], Iterable[Edit]]
    says: str

    @property
    def title(self) -> str:
        """The first line of the explanation."""
        return self.says.strip().partition("\n")[0].rstrip(".")
