"""The policies for settings: which apply, with which severities and where, and what is left to the webhook.

The chart makes the same policies from `content()`, which `make charts` writes to its files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.inprocess import data
from webhook.inprocess.cel import literal
from webhook.inprocess.kinds import COVERED, CoveredKind
from webhook.inprocess.validating import RULES
from webhook.inprocess.validating.rule import SHARED, Rule
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

MODE: Final = {
    "name": "mode",
    "expression": "params.metadata.?annotations[?'gpushare-webhook/mode'].orValue('enforce') == 'enforce' && "
    "params.?data[?'mode'].orValue('enforce') == 'enforce'",
}
"""The installation is not capped. Where it is, the webhook warns and records instead, or does nothing."""

_ACTIONS: Final[Mapping[Severity, str]] = {Severity.DENY: "Deny", Severity.WARN: "Warn", Severity.AUDIT: "Audit"}
_CAPS: Final[Mapping[Cap, Severity]] = dict(
    zip(MODES, (Severity.OFF, Severity.AUDIT, Severity.WARN, Severity.DENY), strict=True)
)
_ALWAYS_EXCLUDED: Final = ("kube-system", "kube-node-lease")


class Installation(NamedTuple):
    """The release whose ConfigMap with the settings holds the mode."""

    namespace: str
    name: str


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
        conditions.append(_namespace_condition(settings, severity, severities))
    values = data.data(settings)
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
        "matchResources": {"namespaceSelector": {"matchExpressions": exclusions(settings, installation)}},
    }
    if installation is not None:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        binding["paramRef"] = {
            "name": installation.name,
            "namespace": installation.namespace,
            "parameterNotFoundAction": "Allow",
        }
    return Policy(rule.code, severity, spec, binding, suffix)


def validation(rule: Rule, *, denies: bool) -> dict[str, str]:
    """The validation of a policy. Its message is the webhook's line for the first violation."""
    return {
        "expression": "variables.violations.size() == 0",
        "messageExpression": rule.denial if denies else rule.line,
        "reason": "Forbidden",
    }


def audit_annotation(code: str, severity: Severity) -> dict[str, str]:
    """The annotation of the audit log, as the webhook's; none without a violation."""
    value = f"variables.violations.size() == 0 ? '' : '{code}={severity.label}'"
    return {"key": "findings", "valueExpression": value}


def _namespace_condition(
    settings: Settings, severity: Severity, severities: Mapping[int | None, Severity]
) -> dict[str, str]:
    """The condition that the first matching rule of namespaces gives the code this severity."""
    listed = [
        [severities[place].label, *(f"^{pattern.replace('*', '.*')}$" for pattern in one.names)]
        for place, one in enumerate(settings.namespaces)
    ]
    matching = "rule.exists(pattern, pattern.startsWith('^') && request.?namespace.orValue('').matches(pattern))"
    return {
        "name": "severity",
        "expression": f"({literal(listed)}.filter(rule, {matching}) + [[{literal(severities[None].label)}]])[0][0] == "
        f"'{severity.label}'",
    }


def exclusions(settings: Settings, installation: Installation | None) -> Sequence[Mapping[str, Any]]:
    """The namespaces that no policy sees, as the entries of the hooks."""
    own = () if installation is None else (installation.namespace,)
    names = dict.fromkeys((*own, *_ALWAYS_EXCLUDED, *settings.exempt.namespaces))
    excluded = [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(names)},
        {"key": "gpushare-webhook/ignore", "operator": "NotIn", "values": ["true"]},
    ]
    if settings.exempt.label is not None:
        key, _, value = settings.exempt.label.partition("=")
        excluded.append({"key": key, "operator": "NotIn", "values": [value or "true"]})
    return excluded


def content() -> dict[str, Any]:
    """All that the chart needs to make the same policies.

    `data` names the variables that depend on settings, `variables` holds those that several rules share. A variable of
    a rule without an expression is one of these.
    """
    return {
        "data": list(data.NAMES),
        "kinds": [{"preset": one.preset, "rule": one.rule()} for one in COVERED],
        "conditions": {"mode": MODE, "mirror": NO_MIRROR},
        "variables": dict(SHARED),
        "validating": [_content_of(rule) for rule in RULES],
    }


def _content_of(rule: Rule) -> dict[str, Any]:
    """A rule for policies that deny, and for those that warn or record."""
    return {
        "code": rule.code,
        "severity": rule.severity.label,
        "unless": list(rule.unless),
        "deny": _variant(rule, denies=True),
        "others": _variant(rule, denies=False),
    }


def _variant(rule: Rule, *, denies: bool) -> dict[str, Any]:
    variables = [
        {"name": name} if known is None or name in SHARED else {"name": name, "expression": known}
        for name, known in rule.expressions(denies=denies).items()
    ]
    return {"variables": variables, "validation": validation(rule, denies=denies)}
