"""The policies for settings: which apply, with which severities and where, and what is left to the webhook.

The chart makes the same policies: `webhook.inprocess.chart`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.inprocess import data, gates
from webhook.inprocess.installation import PARAM_KIND, Installation, uncapped
from webhook.inprocess.kinds import CoveredKind
from webhook.inprocess.namespaces import condition, matched
from webhook.inprocess.validating import RULES
from webhook.inprocess.validating.rule import Rule
from webhook.policy.rules import MODES, Cap
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Severity

API_VERSION: Final = "admissionregistration.k8s.io/v1"

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
_CAPS: Final[Mapping[Cap, Severity]] = dict(
    zip(MODES, (Severity.OFF, Severity.AUDIT, Severity.WARN, Severity.DENY), strict=True)
)


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
        name = f"{prefix}-{self.suffix}{ending}"
        metadata = {"name": name}
        return (
            {"apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": self.spec},
            {
                "apiVersion": API_VERSION,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": metadata,
                "spec": {"policyName": name, **self.binding},
            },
        )


def expressible(settings: Mapping[str, Any], rule: Rule) -> str | None:
    """Why a code is left to the webhook under settings in the form of a file; None if a policy can decide it."""
    for path in rule.unless:
        value: Any = settings
        for step in path.split("."):
            value = value[step] if isinstance(value, Mapping) else None
        if value:
            return f"{path} is set"
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
        reason = expressible(written, rule)
        if reason is None and _depends_on_labels(settings, severities):
            reason = "a rule of namespaces with a selector changes its severity"
        if reason is not None:
            left.append(Left(rule.code, reason))
            continue
        wanted = sorted({*severities.values()} - {Severity.OFF}, reverse=True)
        for place, severity in enumerate(wanted):
            suffix = rule.code.lower() + (f"-{severity.label}" if place else "")
            made.append(_policy(settings, rule, severity, severities, suffix, kinds, installation))
    return made, left


def _severities(settings: Settings, rule: Rule) -> dict[int | None, Severity]:
    """The severity by the place of the rule of namespaces, and that of all other namespaces under None."""
    return {
        None: _severity(settings, rule, None),
        **{place: _severity(settings, rule, one) for place, one in enumerate(settings.namespaces)},
    }


def _severity(settings: Settings, rule: Rule, namespaces: NamespaceRule | None) -> Severity:
    """As `webhook.policy.rules.Rules`."""
    named = {**settings.severities, **(namespaces.severities if namespaces else {})}
    wanted = Severity[named[rule.code].upper()] if rule.code in named else rule.severity
    return min(wanted, _CAPS[(namespaces and namespaces.mode) or settings.mode])


def _depends_on_labels(settings: Settings, severities: Mapping[int | None, Severity]) -> bool:
    has_selector = any(one.selector is not None for one in settings.namespaces)
    return has_selector and len(set(severities.values())) > 1


def _policy(
    settings: Settings,
    rule: Rule,
    severity: Severity,
    severities: Mapping[int | None, Severity],
    suffix: str,
    kinds: Sequence[CoveredKind],
    installation: Installation | None,
) -> Policy:
    denies = severity is Severity.DENY
    conditions = [MODE] if installation else []
    conditions.append(NO_MIRROR)
    if len(set(severities.values())) > 1:
        labels = [each.label for each in severities.values()]
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
