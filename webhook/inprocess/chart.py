"""What the chart needs to make the same policies: all expressions, into which it puts the data of its settings.

`make charts` writes it to files/policies.json. A variable without an expression is data. `%s` stands for a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.inprocess import mutating
from webhook.inprocess.injecting import policy as injecting
from webhook.inprocess.kinds import COVERED
from webhook.inprocess.namespaces import FIRST_MATCH
from webhook.inprocess.policies import AUDIT_ANNOTATION, MODE, NO_MIRROR, validation
from webhook.inprocess.validating import RULES
from webhook.inprocess.validating.rule import Rule


def content() -> dict[str, Any]:
    """The content of the file, as JSON."""
    return {
        "kinds": [{"preset": one.preset, "rule": one.rule()} for one in COVERED],
        "mirror": NO_MIRROR,
        "firstMatch": FIRST_MATCH,
        "validating": {
            "mode": MODE,
            "auditAnnotation": AUDIT_ANNOTATION,
            "rules": [_rule(rule) for rule in RULES],
        },
        "mutating": {
            "mode": mutating.MODE,
            "namesGpu": "%s".join(injecting.NAMES_A_GPU),
            "unless": list(injecting.UNLESS),
            "parameters": list(injecting.PARAMETERS),
            "parametersExpression": injecting.PARAMETERS_EXPRESSION,
            "mutations": [_mutation(mutation) for mutation in injecting.MUTATIONS],
        },
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "severity": rule.severity.label,
        "unless": list(rule.unless),
        "deny": _checks(rule, denies=True),
        "others": _checks(rule, denies=False),
    }


def _checks(rule: Rule, *, denies: bool) -> dict[str, Any]:
    return {
        "variables": _variables(rule.expressions(denies=denies)),
        "validation": validation(rule, denies=denies),
    }


def _mutation(mutation: injecting.Mutation) -> dict[str, Any]:
    variables = mutation.variables()
    return {
        "suffix": mutation.suffix,
        "obeysMode": mutation.obeys_mode,
        "readsParameters": "parameters" in variables,
        "condition": mutation.condition,
        "variables": _variables(variables),
        "spec": injecting.spec(mutation, [], {}),
    }


def _variables(expressions: Mapping[str, str | None]) -> list[dict[str, str]]:
    return [
        {"name": name, **({} if expression is None else {"expression": expression})}
        for name, expression in expressions.items()
    ]
