"""The MutatingAdmissionPolicies: what they are made of, and the data that settings give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.inprocess import landing, pods
from webhook.inprocess.cel import VARIABLE, used
from webhook.inprocess.data import NAMES
from webhook.inprocess.injecting import clients, missing, mutation, tolerations
from webhook.inprocess.pods import MOST, MOST_MOUNTS, MOST_NAMES, MOST_VARIABLES, elements_together
from webhook.inprocess.validating.rule import FACTS
from webhook.policy.settings.settings import Settings

UNLESS: Final = (
    "requests.annotations",
    "injections.steering.enabled",
    "injections.memory.enabled",
    "placement.nodeGroups",
    "placement.groupsAreComplete",
)
"""Settings under which the webhook makes all injections: they change which pods become clients of MPS, and where."""

READING: Final = (*FACTS, "facts.runtimeClasses", "injections.tolerations.fromNodes")
"""Settings under which the policies read parameters: what they inject depends on the cluster."""

_CONTAINERS = "(object.spec.?initContainers.orValue([]) + object.spec.?containers.orValue([]))"
_LISTS = " && ".join(f"(!has(c.{field}) || c.{field}.size() <= {MOST})" for field in ("env", "volumeMounts"))
_OF_POD = " && ".join(
    f"(!has(object.spec.{field}) || object.spec.{field}.size() <= {MOST})" for field in ("volumes", "tolerations")
)
_SUMS = " && ".join(
    f"listed.map(c, {elements_together(*fields)}).sum() <= {most}"
    for most, fields in (
        (MOST_NAMES, ("resources.?limits", "resources.?requests")),
        (MOST_VARIABLES, ("env",)),
        (MOST_MOUNTS, ("volumeMounts",)),
    )
)
"""The containers have few enough elements together: as many as the policies read that check."""

_NAMES_ONE = (
    f"{clients.LIMITED} && ({pods.known_in('gpus', 'c.resources.limits')} || {pods.mig_in('c.resources.limits')})"
)


def _condition(test: str) -> str:
    """The condition that a pod names a GPU resource, is not too large, and passes a test of its containers `listed`.

    Without it, the API server would encode and decode each pod, and ask all webhooks a second time.
    """
    return (
        f"[variables.gpus].exists(gpus, [{_CONTAINERS}].exists(listed, listed.size() <= {MOST} && {_OF_POD} && "
        f"listed.all(c, (!({clients.LIMITED}) || c.resources.limits.size() <= {MOST}) && {_LISTS}) && {_SUMS} && "
        f"listed.exists(c, {_NAMES_ONE}) && ({test})))"
    )


@dataclass(frozen=True)
class Mutation:
    """A MutatingAdmissionPolicy. `condition` is the one that its objects fulfil, with variables of data.

    `obeys_mode`: it does nothing where the installation is capped below warnings.
    """

    suffix: str
    operation: str
    condition: str
    expression: str
    obeys_mode: bool

    def applies(self, settings: Settings) -> bool:
        """Whether it could inject anything."""
        injections = settings.injections
        tolerations = injections.tolerations
        if tolerations.enabled and (tolerations.add or tolerations.resource_name or tolerations.from_nodes):
            return True
        others = (injections.runtime_class, injections.pipe_directory, injections.limits, injections.pipe_mount)
        return self.obeys_mode and any(one.enabled for one in others)

    def filled(self, values: Mapping[str, str]) -> str:
        """Its condition. Match conditions have no variables: `values` are the expressions of those that it reads."""
        return VARIABLE.sub(lambda found: values[found[1]], self.condition)

    def variables(self) -> Mapping[str, str | None]:
        """Its variables in their order; None for data."""
        return {name: None if name in _DATA else _KNOWN[name] for name in used([self.expression], _KNOWN)}


_DATA: Final = (*NAMES, "parameters")
_KNOWN: Final[Mapping[str, str]] = {
    **dict.fromkeys(_DATA, ""),
    "gpus": pods.VARIABLES["gpus"],
    **clients.CANDIDATES,
    **landing.VARIABLES,
    **mutation.VARIABLES,
}

MUTATIONS: Final = (
    Mutation("injections", "CREATE", _condition(missing.CONDITION), mutation.EXPRESSION, obeys_mode=True),
    # `kubectl apply` of a pod drops the injected tolerations, and the API server would reject the update.
    Mutation(
        "tolerations",
        "UPDATE",
        _condition("object.spec.?tolerations.orValue([]) != oldObject.spec.?tolerations.orValue([])"),
        tolerations.operations("lost"),
        obeys_mode=False,
    ),
)
"""All of them."""


def spec(one: Mutation, conditions: list[Mapping[str, str]], variables: Mapping[str, str]) -> dict[str, Any]:
    """The spec of a policy, with the expression of each variable."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [one.operation], "resources": ["pods"]}
    return {
        "failurePolicy": "Ignore",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": [{**rule, "scope": "Namespaced"}]},
        "matchConditions": conditions,
        "variables": [{"name": name, "expression": expression} for name, expression in variables.items()],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": one.expression}}],
    }
