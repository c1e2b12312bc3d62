"""The MutatingAdmissionPolicies for settings: which apply, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from webhook.inprocess import data
from webhook.inprocess.by_facts import is_set
from webhook.inprocess.facts_file import Known
from webhook.inprocess.injecting.policy import (
    MUTATIONS,
    READING,
    UNLESS,
    Mutation,
    spec,
)
from webhook.inprocess.installation import PARAM_KIND, PARAMETERS, Installation, uncapped
from webhook.inprocess.namespaces import condition, matched
from webhook.inprocess.parameters import MODE as CAP
from webhook.inprocess.policies import NO_MIRROR, Left, bound, why_left
from webhook.inprocess.validating.rule import FACTS
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings

MODE: Final = uncapped("enforce", "warn")
"""The installation is not capped below warnings, under which it would change no pod."""


@dataclass(frozen=True)
class InjectionPolicy:
    """A MutatingAdmissionPolicy, and its binding."""

    suffix: str
    spec: Mapping[str, Any]
    binding: Mapping[str, Any]

    def objects(self, prefix: str, ending: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Both objects, with a name that begins with a prefix and has an ending."""
        return bound("MutatingAdmissionPolicy", f"{prefix}-{self.suffix}{ending}", self.spec, self.binding)


def mutating(
    settings: Settings,
    written: Mapping[str, Any],
    installation: Installation | None = None,
    known: Known | None = None,
) -> tuple[list[InjectionPolicy], list[Left]]:
    """The policies for settings, which `written` holds in the form of a file, and what is left to the webhook.

    `known`: those of a facts file, in place of the parameters of an installation.
    """
    modes = [_mode(settings, rule) for rule in (None, *settings.namespaces)]
    reason = why_left(settings, written, UNLESS, modes, "their mode")
    if reason is not None:
        return [], [Left("injections", reason)]
    reads = installation is not None and any(is_set(written, path) for path in READING)
    values = _values(settings, known, reads=reads)
    made = []
    for mutation in MUTATIONS:
        if not mutation.applies(settings) or (mutation.obeys_mode and "on" not in modes):
            continue
        obeys = installation is not None and mutation.obeys_mode
        conditions = _conditions(settings, mutation, values, modes, obeys=obeys)
        made.append(_policy(settings, mutation, conditions, values, installation, reads=reads))
    return made, _left(written, known) if installation is None else []


def _with_facts(settings: Settings) -> Settings:
    """The settings under which policies heed the parameters of nodes and classes."""
    return replace(settings, facts=replace(settings.facts, nodes=True, runtime_classes=True))


_BY_PARAMETER: Final = {
    **dict.fromkeys(FACTS, "pipes and limits"),
    "facts.runtimeClasses": "the runtime class",
    "injections.tolerations.fromNodes": "tolerations from nodes",
}


def _left(written: Mapping[str, Any], known: Known | None) -> list[Left]:
    """The injections that only an installation knows enough to make, or that the facts of a file leave out."""
    if known is not None:
        return [Left(injected, reason) for injected, reason in known.left.items()]
    reason = "is set, and without --facts or --installed-as nothing knows the facts"
    wanted = {path: injected for path, injected in _BY_PARAMETER.items() if is_set(written, path)}
    first = {injected: path for path, injected in reversed(wanted.items())}
    return [Left(injected, f"{path} {reason}") for injected, path in first.items()]


def _mode(settings: Settings, rule: NamespaceRule | None) -> str:
    """The mode of injections in the namespaces of a rule, or in all others: as `webhook.policy.rules.Rules`."""
    asked = (rule and rule.injections.mode) or settings.injections.mode
    return asked or ("report" if ((rule and rule.mode) or settings.mode) == "audit" else "on")


def _conditions(
    settings: Settings, mutation: Mutation, values: Mapping[str, str], modes: list[str], *, obeys: bool
) -> list[Mapping[str, str]]:
    conditions: list[Mapping[str, str]] = [MODE] if obeys else []
    conditions += [NO_MIRROR, {"name": "names-a-gpu", "expression": mutation.filled(values)}]
    if mutation.obeys_mode and len(set(modes)) > 1:
        conditions.append(condition("injects", settings.namespaces, modes, "on"))
    return conditions


def _values(settings: Settings, known: Known | None, *, reads: bool) -> Mapping[str, str]:
    """The expression of each variable of data, of the names of all GPU resources, and of the parameters."""
    values = data.data(settings if known is None else _with_facts(settings))
    values = {**values, "gpus": sorted(each.name for each in settings.resources)}
    baked = {} if known is None else {key: value for key, value in known.parameters.items() if key != CAP}
    made = {name: data.expression(value) for name, value in values.items()}
    return {**made, "parameters": PARAMETERS if reads else data.expression(baked)}


def _policy(
    settings: Settings,
    mutation: Mutation,
    conditions: list[Mapping[str, str]],
    values: Mapping[str, str],
    installation: Installation | None,
    *,
    reads: bool,
) -> InjectionPolicy:
    variables = {name: values[name] if known is None else known for name, known in mutation.variables().items()}
    has_parameters = reads and "parameters" in variables
    made = spec(mutation, conditions, variables)
    binding: dict[str, Any] = {"matchResources": matched(settings, installation.namespace if installation else None)}
    if installation is not None and (has_parameters or mutation.obeys_mode):
        made["paramKind"] = PARAM_KIND
        binding["paramRef"] = installation.param_ref
    return InjectionPolicy(mutation.suffix, made, binding)
