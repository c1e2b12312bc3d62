"""Combinations of settings and facts, from the defaults to every opt-in."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.settings.load import load, load_facts

NAMESPACE = "team-a"

_TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
SETTINGS: dict[str, dict[str, Any]] = _TABLES["settings"]
FACTS: dict[str, dict[str, Any] | None] = _TABLES["facts"]

ORIGINS = {
    "offline": RequestContext(NAMESPACE),
    "mutate": RequestContext(NAMESPACE, hostpath=True, groups=("system:authenticated",)),
    "without hostPath": RequestContext(NAMESPACE, hostpath=False, groups=("system:authenticated",)),
}
"""The origins of a Pod that has not been mutated."""


def _nowhere(path: tuple[str | int, ...]) -> tuple[int, int]:
    return 1, 1


def _facts(value: dict[str, Any] | None) -> Facts:
    return UNKNOWN if value is None else load_facts(value, _nowhere, "facts")


EVALUATORS = {
    (settings, facts): OfflineEvaluator.of(load(SETTINGS[settings], _nowhere, settings).settings, _facts(FACTS[facts]))
    for settings, facts in product(SETTINGS, FACTS)
}

configurations = st.sampled_from(sorted(EVALUATORS))
"""The names of settings and facts."""

origins = st.sampled_from(sorted(ORIGINS))
"""The name of an origin."""
