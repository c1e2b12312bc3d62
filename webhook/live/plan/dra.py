"""Which live objects run unchanged where a DeviceClass serves the resource names of the device plugin.

With dynamic resource allocation, a request for an extended resource gets a whole device of the class that names it
(KEP-5004). Devices are shared only among the containers and pods that name one claim, so that nothing converts a
replica of the device plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from webhook.cluster.objects import Object
from webhook.live.audit.census import Audited
from webhook.live.audit.created import OwnEdits, created
from webhook.live.audit.outcome import ALLOWED, Outcome
from webhook.policy.context import Origin, PodContext
from webhook.policy.evaluate import Evaluator, exemption
from webhook.policy.placement.node_classes import SHARING
from webhook.policy.placement.reachability import Reachability
from webhook.policy.pods.gpu_resources import CARD
from webhook.policy.pods.reading import MalformedError
from webhook.policy.verdict import Decision
from webhook.policy.workloads.kinds import is_pod


class Effect(IntEnum):
    """What happens to an object, in rising order of the work that it makes."""

    UNCHANGED = 0
    UNSHARED = 1
    CLAIM = 2

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS: Final = {
    Effect.UNCHANGED: "runs unchanged",
    Effect.UNSHARED: "loses sharing across pods",
    Effect.CLAIM: "needs a claim",
}
_BY_LABEL: Final = {label: effect for effect, label in _LABELS.items()}


class DraRow(NamedTuple):
    """An object that asks for GPUs, and what happens to it."""

    effect: Effect
    row: Audited


class DraChecker:
    """Checks live objects for what dynamic resource allocation changes. The reason of an outcome is the effect."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._own = OwnEdits(evaluator.ruleset)
        classes = evaluator.ruleset.facts.device_classes or ()
        self._served = frozenset(one.extended_resource_name for one in classes if one.extended_resource_name) or {CARD}

    def outcomes(self, found: Object, group: str, api_version: str, kind: str) -> tuple[Outcome, ...]:
        is_one = is_pod(group, kind)
        made = self._own.created(found) if is_one else created(found, api_version, kind)
        origin = Origin((found.get("metadata") or {}).get("namespace", ""), is_final_hook=True, groups=())
        try:
            contexts = [self._evaluator.context(one, origin) for one in self._evaluator.pods(made, group, kind)]
            effects = [effect for one in contexts if exemption(one) is None for effect in self._effects(one)]
        except MalformedError:
            return (ALLOWED,)  # the plan of verdicts reports it
        return (Outcome(Decision.ALLOWED, reason=max(effects).label) if effects else ALLOWED,)

    def _effects(self, context: PodContext) -> Iterator[Effect]:
        lands = context.placement.lands
        for request in context.requests.positive:
            resource = request.resource
            if resource.name not in self._served:
                yield Effect.CLAIM
            elif any(lands(resource, strategy) is not Reachability.NO for strategy in SHARING):
                yield Effect.UNSHARED if resource.kind == "shared" else Effect.UNCHANGED
            else:
                yield Effect.UNCHANGED


def dra_rows(rows: list[Audited]) -> list[DraRow]:
    """The objects that ask for GPUs, those with the most work first."""
    found = [DraRow(_BY_LABEL[row.outcomes[0].reason], row) for row in rows if row.outcomes[0].reason]
    return sorted(found, key=lambda one: (-one.effect, one.row.where, one.row.by_pod))
