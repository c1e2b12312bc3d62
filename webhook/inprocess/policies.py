"""The policies for settings: which apply, with which severities and where, and what is left to the webhook.

The chart makes the same policies: `webhook.inprocess.chart`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from webhook.inprocess import by_facts, data, gates
from webhook.inprocess.by_facts import Form, is_set
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
    known: Mapping[str, str] | None = None,
) -> tuple[list[Policy], list[Left]]:
    """The policies for settings, which `written` holds in the form of a file, and the codes left to the webhook.

    `kinds` are those that the policies match. `known`: the parameters of a facts file, in place of those of an
    installation. A code that policies deny only by the parameters of an installation is left to the webhook too.
    """
    made, left = [], []
    values = data.data(settings)
    for rule in RULES:
        severities = _severities(settings, rule)
        reason = why_left(settings, written, rule.unless, severities, "its severity")
        reason = reason or by_facts.why_undecided(rule, written, known, is_installed=installation is not None)
        if reason:
            left.append(Left(rule.code, reason))
            continue
        form = by_facts.form(rule, values, written, known)
        if form.is_guard:
            left.append(Left(rule.code, f"{by_facts.facts_wanted(rule, written)} is set, and {_GUARDS}"))
        wanted = {Severity.DENY} if form.is_guard else {Severity.DENY, Severity.WARN, Severity.AUDIT}
        for place, severity in enumerate(sorted(wanted.intersection(severities), reverse=True)):
            suffix = rule.code.lower() + (f"-{severity.label}" if place else "")
            made.append(_policy(settings, form, severity, severities, suffix, kinds, installation))
    return made, left


_GUARDS: Final = "a policy denies only where every GPU node shares through MPS"


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
    form: Form,
    severity: Severity,
    severities: Sequence[Severity],
    suffix: str,
    kinds: Sequence[CoveredKind],
    installation: Installation | None,
) -> Policy:
    denies, rule, values = severity is Severity.DENY, form.rule, form.values
    conditions: list[Mapping[str, str]] = [MODE] if installation else []
    conditions += [*form.conditions, NO_MIRROR]
    if len(set(severities)) > 1:
        labels = [each.label for each in severities]
        conditions.append(condition("severity", settings.namespaces, labels, severity.label))
    conditions.append(_gate(rule, values))
    literals = {name: data.expression(value) for name, value in values.items()}
    literals["limits"] = form.limits.replace("%s", literals["limits"])
    spec: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [one.rule() for one in kinds]},
        "matchConditions": conditions,
        "variables": [
            {"name": name, "expression": literals[name] if fixed is None else fixed}
            for name, fixed in rule.expressions(denies=denies).items()
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
