"""The facts of a file, which policies hold in place of the parameters of an installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from webhook.inprocess.parameters import (
    RUNTIME_CLASS,
    SHARING,
    common_taints,
    injects_runtime_class,
    parameters,
)
from webhook.policy.rules import Ruleset

NOT_ALL_SHARE: Final = "the facts do not show that every GPU node shares through MPS"
"""Why a facts file leaves something to the webhook."""


class Known(NamedTuple):
    """The parameters of a facts file.

    `is_about_nodes`: rules that depend on nodes follow the parameters, and not labels alone. `left`: the injections
    that the parameters do not hold for every pod, with the reason.
    """

    parameters: Mapping[str, str]
    is_about_nodes: bool
    left: Mapping[str, str]


def known(ruleset: Ruleset) -> Known:
    """What policies can hold of the facts of a ruleset."""
    wanted, facts = ruleset.settings.facts, ruleset.facts
    held = parameters(ruleset)
    shown = (facts.nodes, facts.device_classes, facts.device_plugin)
    is_about_nodes = wanted.are_about_nodes or any(one is not None for one in shown)
    return Known(held, is_about_nodes, dict(_left(ruleset, held)))


def _left(ruleset: Ruleset, held: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if SHARING not in held:
        yield "pipes and limits", NOT_ALL_SHARE
    if RUNTIME_CLASS not in held and injects_runtime_class(ruleset):
        yield "the runtime class", "pods that use MPS do not get it"
    if len(common_taints(ruleset)) < len(ruleset.nodes.tolerable):
        yield "tolerations from nodes", "the facts show taints that only some GPU nodes have"
