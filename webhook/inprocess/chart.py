"""What the chart needs to make the same policies: all expressions, into which it puts the data of its settings.

`make charts` writes it to files/policies.json. `%s` stands for a value. `variables` holds the expressions that policies
share; a policy names its variables in their order, and holds its own expressions. A variable without one is data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook.inprocess import by_facts, mutating
from webhook.inprocess.injecting import policy as injecting
from webhook.inprocess.installation import PARAM_KIND, PARAMETERS, SUFFIX
from webhook.inprocess.kinds import COVERED
from webhook.inprocess.namespaces import FIRST_MATCH
from webhook.inprocess.policies import AUDIT_ANNOTATION, MODE, NO_MIRROR, validation
from webhook.inprocess.validating import RULES
from webhook.inprocess.validating.rule import FACTS, Rule
from webhook.policy.checks import POD_CHECKS

_Variables = Mapping[str, str | None]


def content() -> dict[str, Any]:
    """The content of the file, as JSON."""
    return {
        "kinds": [{"preset": one.preset, "rule": one.rule()} for one in COVERED],
        "paramKind": PARAM_KIND,
        "paramSuffix": SUFFIX,
        "mirror": NO_MIRROR,
        "firstMatch": FIRST_MATCH,
        "validating": _validating(),
        "mutating": _mutating(),
    }


def _validating() -> dict[str, Any]:
    guards = [rule.by_facts for rule in RULES if rule.by_facts]
    listed = [rule.expressions(denies=denies) for rule in RULES for denies in (True, False)]
    shared = _shared(listed + [rule.expressions(denies=True) for rule in guards])
    rules = [
        {
            "code": rule.code,
            "severity": rule.severity.label,
            "unless": list(rule.unless),
            "gate": rule.gate,
            "deny": _checks(rule, shared, denies=True),
            "others": _checks(rule, shared, denies=False),
            "byFacts": None if rule.by_facts is None else _guard(rule.by_facts, shared),
        }
        for rule in RULES
    ]
    return {
        "mode": MODE,
        "auditAnnotation": AUDIT_ANNOTATION,
        "facts": list(FACTS),
        "limits": by_facts.LIMITS,
        "variables": shared,
        "rules": rules,
        "unexpressed": _unexpressed(),
    }


_NEEDS: Final = {"GPS025": "sharing.namespaces"}
"""The setting without which a check finds nothing."""


def _unexpressed() -> list[dict[str, str]]:
    """The checks of pods without a rule."""
    codes = {rule.code for rule in RULES}
    others = [check for check in POD_CHECKS if check.code not in codes]
    return [{"code": one.code, "severity": one.severity.label, "needs": _NEEDS.get(one.code, "")} for one in others]


def _guard(rule: Rule, shared: Mapping[str, str]) -> dict[str, Any]:
    return {**_checks(rule, shared, denies=True), "conditions": by_facts.conditions(rule)}


def _checks(rule: Rule, shared: Mapping[str, str], *, denies: bool) -> dict[str, Any]:
    return {
        **_variables(rule.expressions(denies=denies), shared),
        "validation": validation(rule, denies=denies),
    }


def _mutating() -> dict[str, Any]:
    shared = _shared([mutation.variables() for mutation in injecting.MUTATIONS])
    mutations = [
        {
            "suffix": mutation.suffix,
            "obeysMode": mutation.obeys_mode,
            "condition": mutation.condition,
            **_variables(mutation.variables(), shared),
            "spec": injecting.spec(mutation, [], {}),
        }
        for mutation in injecting.MUTATIONS
    ]
    return {
        "mode": mutating.MODE,
        "unless": list(injecting.UNLESS),
        "readsParameters": list(injecting.READING),
        "parameters": PARAMETERS,
        "variables": shared,
        "mutations": mutations,
    }


def _shared(policies: Sequence[_Variables]) -> dict[str, str]:
    """The variables with expressions that all of several policies with such a variable share."""
    expressions = {(name, expression) for policy in policies for name, expression in policy.items()}
    names = Counter(name for name, _ in expressions)
    return {name: expression for name, expression in sorted(expressions, key=str) if expression and names[name] == 1}


def _variables(of: _Variables, shared: Mapping[str, str]) -> dict[str, Any]:
    own = {name: expression for name, expression in of.items() if expression and name not in shared}
    return {"names": list(of), "own": own}
