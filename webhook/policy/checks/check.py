"""What a check is: a code, a scope, and a function that looks at a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from webhook.policy.context import PodContext
from webhook.policy.verdict import Claim, Severity

Claims = Iterable[Claim]
"""What a check has to say; empty when all is well."""


class Scope(Enum):
    """Which pods a check looks at."""

    MPS = "pods that ask for a shared resource and could land on an MPS node"
    ASKS = "pods that ask for a GPU"
    NAMES = "pods that name a GPU resource"
    ANY = "every pod"
    ADDED = "every pod, and the ephemeral containers that are added to one"
    ARRIVED = "pods that reach `/validate` on CREATE"

    def holds(self, context: PodContext) -> bool:
        """Whether the case is in the scope."""
        if context.origin.added is not None:
            return self is Scope.ADDED
        if self is Scope.MPS:
            return bool(context.mps)
        if self is Scope.ASKS:
            return bool(context.demand.asks)
        if self is Scope.NAMES:
            return bool(context.demand.names)
        if self is Scope.ARRIVED:
            return context.origin.arrived
        return True


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `says` is its explanation: a title, what it reads, why it matters, what to do."""

    code: str
    severity: Severity
    scope: Scope
    run: Callable[[PodContext], Claims]
    says: str

    @property
    def title(self) -> str:
        """The first line of the explanation."""
        return self.says.strip().partition("\n")[0].rstrip(".")
