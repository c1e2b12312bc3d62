"""A rule: what a ValidatingAdmissionPolicy checks for one code, as expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from webhook.inprocess import kinds, landing, pods
from webhook.inprocess.cel import FITTED, FITTING, let, text, used
from webhook.inprocess.data import NAMES
from webhook.policy.checks import CHECKS
from webhook.policy.verdict import Severity

SUPPRESSION: Final = ("suppress.annotation",)
"""Settings under which the webhook decides about every code: an annotation suppresses findings one by one."""

LANDING: Final = (
    *SUPPRESSION,
    "requests.annotations",
    "injections.steering.enabled",
    "injections.memory.enabled",
    "placement.nodeGroups",
    "placement.groupsAreComplete",
)
"""Settings under which the webhook decides about codes that depend on where a pod could land."""

FACTS: Final = ("facts.nodes", "facts.devicePlugin", "facts.deviceClasses")
"""Settings under which these codes depend on facts: a policy then denies only where all GPU nodes share through MPS."""


class IfAllShare(NamedTuple):
    """A rule where facts show that all GPU nodes share through MPS.

    `where`: of the violations that labels show, those that the webhook finds whatever the nodes are; empty for all.
    `remedy` replaces that of the rule; empty to keep it.
    """

    where: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Rule:
    """The rule for a code. `violations` is the list of all violations, in the order of the webhook's findings.

    `message`, as `cel.message` makes it, and the text `remedy` are about one `violation`. `gate` is one of
    `webhook.inprocess.gates`. `may_deny` says whether a violation can be a denial; empty where each can. `unless`: the
    paths of settings that CEL cannot express unless they are false, null or empty. `variables`: those of the rule
    alone, which precede those of `landing`. `if_all_share`: None for a rule that does not depend on nodes.
    """

    code: str
    violations: str
    message: str
    remedy: str
    gate: str
    unless: tuple[str, ...]
    may_deny: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    if_all_share: IfAllShare | None = None

    @property
    def severity(self) -> Severity:
        """The severity by default."""
        return next(check.severity for check in CHECKS if check.code == self.code)

    @property
    def by_facts(self) -> Rule | None:
        """The rule where facts show that all GPU nodes share through MPS; None if it does not depend on nodes."""
        if self.if_all_share is None:
            return None
        where, remedy = self.if_all_share
        violations = f"{self.violations}.filter(violation, {where})" if where else self.violations
        return replace(self, violations=violations, remedy=remedy or self.remedy)

    @property
    def line(self) -> str:
        """The line of the first violation without its remedy, as in a warning."""
        return self._line("", "")

    @property
    def denial(self) -> str:
        """The line of the first violation in a denial."""
        return self._line(f"; {pods.SHORTEN}", f" + '; ' + {_of_first(self.remedy)}")

    def _line(self, if_large: str, otherwise: str) -> str:
        large = f"{self.code} cannot be checked: {pods.TOO_LARGE}{if_large}"
        return f"variables.large ? {text(large)} : {text(self.code + ' ')} + {FITTED}{otherwise}"

    def expressions(self, *, denies: bool) -> dict[str, str | None]:
        """The variables of a policy that denies, or warns and records, in their order; None for data."""
        violations = self.violations
        if denies and self.may_deny:
            violations = f"{violations}.filter(violation, {self.may_deny})"
        violations = f"variables.large ? [dyn({{}})] : {violations}"
        known = {
            **dict.fromkeys(NAMES, ""),
            **kinds.VARIABLES,
            **pods.VARIABLES,
            **self.variables,
            **landing.VARIABLES,
            "violations": violations,
            "message": _of_first(self.message),
            **FITTING,
        }
        needed = used([self.denial if denies else self.line], known)
        return {name: None if name in NAMES else known[name] for name in needed}


def _of_first(expression: str) -> str:
    """An expression about the first `violation`."""
    return let("violation", "variables.violations[0]", expression)
