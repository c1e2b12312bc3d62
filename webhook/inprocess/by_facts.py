"""Rules that depend on nodes, under settings that make the webhook read facts about them.

Labels alone show that a pod could land on an MPS node. Known nodes prove the contrary for pods that other GPU nodes can
take (`webhook.policy.placement.reachability`). So these rules deny only where no other GPU nodes exist. Known are the
parameters of an installation, which change, or those of a facts file, which stand in the policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.inprocess.cel import let, record, text
from webhook.inprocess.data import NO_LIMIT
from webhook.inprocess.facts_file import NOT_ALL_SHARE
from webhook.inprocess.installation import parameter
from webhook.inprocess.parameters import LIMIT, SHARING, UNLIMITED
from webhook.inprocess.validating.rule import FACTS, Rule

ALL_SHARE: Final = {"name": "all-share", "expression": f"{parameter(SHARING, '')} == 'mps'"}
"""Every GPU node shares every shared resource through MPS."""

HAS_LIMIT: Final = {
    "name": "has-limit",
    "expression": f"{parameter(LIMIT, '')}.matches('^({UNLIMITED}|[0-9]{{1,18}})$')",
}
"""The limit of a container is the same on every node."""

LIMITS: Final = let(
    "settings",
    "%s",
    let(
        "most",
        parameter(LIMIT, UNLIMITED),
        record(
            container=f"most == {text(UNLIMITED)} ? {NO_LIMIT} : int(most)",
            pod="settings.pod",
            timeSlicing=str(NO_LIMIT),
        ),
    ),
)
"""The variable `limits` by parameters. `%s` stands for that of the settings."""


class Form(NamedTuple):
    """A rule as a policy has it. `values`: the data. `conditions`: those beside the ones of every rule.

    `limits`: the expression of the variable, with `%s` for its data. `is_guard`: the hooks decide too, so that the
    policy only denies.
    """

    rule: Rule
    values: Mapping[str, Any]
    conditions: Sequence[Mapping[str, str]] = ()
    limits: str = "%s"
    is_guard: bool = False


def why_undecided(
    rule: Rule, written: Mapping[str, Any], known: Mapping[str, str] | None, *, is_installed: bool
) -> str:
    """Why facts, or the lack of them, leave a rule to the webhook; empty if a policy can decide."""
    path = facts_wanted(rule, written)
    if rule.if_all_share is None or (known is None and (is_installed or not path)):
        return ""
    if known is None:
        return f"{path} is set"
    if known.get(SHARING) != "mps":
        return NOT_ALL_SHARE
    return "" if LIMIT in known or not reads_limits(rule) else "the facts show no limit that all nodes have in common"


def facts_wanted(rule: Rule, written: Mapping[str, Any]) -> str:
    """The setting that makes the webhook read facts on which a rule depends; empty without one."""
    return next((path for path in FACTS if is_set(written, path)), "") if rule.if_all_share else ""


def form(rule: Rule, values: Mapping[str, Any], written: Mapping[str, Any], known: Mapping[str, str] | None) -> Form:
    """The form of a rule that is not left to the webhook, with the data of the settings."""
    by_facts = rule.by_facts
    if by_facts is None or (known is None and not facts_wanted(rule, written)):
        return Form(rule, values)
    if known is None:
        return Form(by_facts, values, conditions(rule), LIMITS, is_guard=True)
    limit = known.get(LIMIT, UNLIMITED)
    container = NO_LIMIT if limit == UNLIMITED else int(limit)
    limits = {**values["limits"], "container": container, "timeSlicing": NO_LIMIT}
    return Form(by_facts, {**values, "limits": limits})


def conditions(rule: Rule) -> list[Mapping[str, str]]:
    """The conditions that parameters hold the facts on which a rule depends."""
    return [ALL_SHARE, HAS_LIMIT] if reads_limits(rule) else [ALL_SHARE]


def reads_limits(rule: Rule) -> bool:
    """Whether a rule compares amounts with limits."""
    return "limits" in rule.expressions(denies=True)


def is_set(written: Mapping[str, Any], path: str) -> bool:
    """Whether settings in the form of a file have a value at a path that is not false, null or empty."""
    value: Any = written
    for step in path.split("."):
        value = value[step] if isinstance(value, Mapping) else None
    return bool(value)
