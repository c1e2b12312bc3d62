"""The policies for settings: which apply, with which severities and where, and what is left to the webhook.

The chart makes the same policies: `webhook.inprocess.chart`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.inprocess import data, gates
from webhook.inprocess.installation import PARAM_KIND, Installation, uncapped
from webhook.inprocess.kinds import CoveredKind
from webhook.inprocess.namespaces import condition, matched
from webhook.inprocess.validating import RULES
from webhook.inprocess.validating.rule import Rule
from webhook.policy.rules import MODE_CAP
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Severity

_API_VERSION: Final = "admissionregistration.k8s.io/v1"

NO_MIRROR: Final = {
    "name": "no-mirror",
    "expression": "!(request.kind.kind == 'Pod' && 'system:nodes' in request.userInfo.?groups.orValue([]) && "
    "'kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))",
}
"""A kubelet already runs what a mirror pod shows. Any user can set the annotation, so it counts only from nodes."""

MODE: Final = uncapped("enforce")
"""The installation is not capped. Where it is, the webhook warns and records instead, or does nothing."""

GATE: Final = "may-violate"
"""The name of the condition that most objects fail at once."""

AUDIT_ANNOTATION: Final = {
    "key": "findings",
    "valueExpression": "variables.violations.size() == 0 ? '' : '%s=%s'",
}
"""The annotation of the audit log with a code and its severity."""

_ACTIONS: Final[Mapping[Severity, str]] = {Severity.DENY: "Deny", Severity.WARN: "Warn", Severity.AUDIT: "Audit"}


class Left(NamedTuple):
    """A code that is left to the webhook, and the reason."""

    code: str
    reason: str


@dataclass(frozen=True)
class Policy:
    """A ValidatingAdmissionPolicy, and its binding."""

    code: str
    severity: Severity
    spec: Mapping[str, Any]
    binding: Mapping[str, Any]
    suffix: str

    def objects(self, prefix: str, ending: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Both objects. Their name begins with a prefix, and has an ending where the API server demands one."""
        return bound("ValidatingAdmissionPolicy", f"{prefix}-{self.suffix}{ending}", self.spec, self.binding)


def bound(
    kind: str, name: str, spec: Mapping[str, Any], binding: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy of a kind, and its binding of the same name."""
    metadata = {"name": name}
    return (
        {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "spec": spec},
        {
            "apiVersion": _API_VERSION,
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "spec": {"policyName": name, **binding},
        },
    )


def is_set(written: Mapping[str, Any], path: str) -> bool:
    """Whether settings in the form of a file have a value at a path that is not false, null or empty."""
    value: Any = written
    for step in path.split("."):
        value = value[step] if isinstance(value, Mapping) else None
    return bool(value)


def why_left(
    settings: Settings, written: Mapping[str, Any], unless: Iterable[str], values: Iterable[object], value: str
) -> str | None:
    """Why settings leave something to the webhook; None if policies can decide it.

    `unless`: the paths of settings that CEL cannot express. `values`: its value without a rule of namespaces, and by
    rule; no policy sees the labels of a namespace. `value` names it.
    """
    for path in unless:
        if is_set(written, path):
            return f"{path} is set"
    if len(set(values)) > 1 and any(rule.selector is not None for rule in settings.namespaces):
        return f"a rule of namespaces with a selector changes {value}"
    return None


def policies(
    settings: Settings,
    written: Mapping[str, Any],
    kinds: Sequence[CoveredKind],
    installation: Installation | None = None,
) -> tuple[list[Policy], list[Left]]:
    """The policies for settings, which `written` holds in the form of a file, and the codes left to the webhook.

    `kinds` are those that the policies match.
    """
    made, left = [], []
    for rule in RULES:
        severities = _severities(settings, rule)
        reason = why_left(settings, written, rule.unless, severities, "its severity")
        if reason is not None:
            left.append(Left(rule.code, reason))
            continue
        wanted = sorted({*severities} - {Severity.OFF}, reverse=True)
        for place, severity in enumerate(wanted):
            suffix = rule.code.lower() + (f"-{severity.label}" if place else "")
            made.append(_policy(settings, rule, severity, severities, suffix, kinds, installation))
    return made, left


def _severities(settings: Settings, rule: Rule) -> list[Severity]:
    """The severity without a rule of namespaces, then by rule."""
    return [_severity(settings, rule, one) for one in (None, *settings.namespaces)]


def _severity(settings: Settings, rule: Rule, namespaces: NamespaceRule | None) -> Severity:
    """As `webhook.policy.rules.Rules`."""
    named = {**settings.severities, **(namespaces.severities if namespaces else {})}
    wanted = Severity[named[rule.code].upper()] if rule.code in named else rule.severity
    return min(wanted, MODE_CAP[(namespaces and namespaces.mode) or settings.mode])


def _policy(
    settings: Settings,
    rule: Rule,
    severity: Severity,
    severities: Sequence[Severity],
    suffix: str,
    kinds: Sequence[CoveredKind],
    installation: Installation | None,
) -> Policy:
    denies = severity is Severity.DENY
    conditions = [MODE] if installation else []
    conditions.append(NO_MIRROR)
    if len(set(severities)) > 1:
        labels = [each.label for each in severities]
        conditions.append(condition("severity", settings.namespaces, labels, severity.label))
    values = data.data(settings)
    conditions.append(_gate(rule, values))
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [one.rule() for one in kinds]},
        "matchConditions": conditions,
        "variables": [
            {"name": name, "expression": data.expression(values[name]) if known is None else known}
            for name, known in rule.expressions(denies=denies).items()
        ],
        "validations": [validation(rule, denies=denies)],
        "auditAnnotations": [audit_annotation(rule.code, severity)],
    }
    binding: dict[str, Any] = {
        "validationActions": [_ACTIONS[severity]],
        "matchResources": matched(settings, installation.namespace if installation else None),
    }
    if installation is not None:
        spec["paramKind"] = PARAM_KIND
        binding["paramRef"] = installation.param_ref
    return Policy(rule.code, severity, spec, binding, suffix)


def _gate(rule: Rule, values: Mapping[str, Any]) -> dict[str, str]:
    """The condition that an object may have a violation."""
    gpus = sorted([*values["shared"], *values["whole"], *values["mig"]])
    return {"name": GATE, "expression": gates.filled(rule.gate, gpus, values["pipes"], values["options"]["hostIPC"])}


def validation(rule: Rule, *, denies: bool) -> dict[str, str]:
    """The validation of a policy. Its message is the webhook's line for the first violation."""
    return {
        "expression": "variables.violations.size() == 0",
        "messageExpression": rule.denial if denies else rule.line,
        "reason": "Forbidden",
    }


def audit_annotation(code: str, severity: Severity) -> dict[str, str]:
    """The annotation of the audit log, as the webhook's; none without a violation."""
    return {**AUDIT_ANNOTATION, "valueExpression": AUDIT_ANNOTATION["valueExpression"] % (code, severity.label)}
