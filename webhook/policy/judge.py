"""One object in, one verdict out, however many pods it holds."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.policy.case import Case, Origin
from webhook.policy.engine import decide
from webhook.policy.kinds import Held
from webhook.policy.rules import Ruleset
from webhook.policy.verdict import UNTOUCHED, Decision, Verdict


def judge(held: Sequence[Held], origin: Origin, ruleset: Ruleset) -> Verdict:
    """The verdict for an object: the gravest decision, all findings in the order of codes, all edits.

    Raises MalformedError.
    """
    rules, facts = ruleset.of(origin.namespace), ruleset.facts
    if len(held) == 1:
        return decide(Case(held[0].pod, origin, rules, facts))
    verdicts = [decide(Case(one.pod, origin, rules, facts)) for one in held]
    if not verdicts:
        return UNTOUCHED
    findings = sorted((finding for verdict in verdicts for finding in verdict.findings), key=lambda found: found.code)
    return Verdict(
        Decision(max(verdict.decision for verdict in verdicts)),
        tuple(findings),
        tuple(edit for verdict in verdicts for edit in verdict.edits),
    )
