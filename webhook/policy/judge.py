"""One object in, one verdict out, however many pods it holds."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.policy.case import Case, Origin
from webhook.policy.engine import Gathered
from webhook.policy.kinds import Held
from webhook.policy.rules import Ruleset
from webhook.policy.verdict import Verdict


def judge(held: Iterable[Held], origin: Origin, ruleset: Ruleset) -> Verdict:
    """The verdict for an object: the gravest decision, its findings in the order of codes, its edits.

    Raises MalformedError.
    """
    rules = ruleset.of(origin.namespace)
    gathered = Gathered()
    for one in held:
        gathered.take(Case(one.pod, origin, rules, ruleset.facts))
    return gathered.verdict()
