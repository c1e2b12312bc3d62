"""The table of the page about policies names each code with a policy, and whether facts give it to the hooks."""

from __future__ import annotations

import re

from tests.project.repository import ROOT
from webhook.inprocess.parameters import parameters
from webhook.inprocess.validating import RULES
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

PAGE = (ROOT / "docs/explanation/policies.md").read_text()


def test_table_has_every_code_of_a_policy_once() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| GPS")]
    listed = {code: row for row in rows for code in re.findall(r"GPS\d+", row.split("|")[1])}
    assert sorted(listed) == sorted(rule.code for rule in RULES)
    for rule in RULES:
        assert ("facts" in listed[rule.code]) is (rule.if_all_share is not None), rule.code


def test_table_has_every_parameter() -> None:
    section = PAGE.partition("## Parameters")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert listed == {*parameters(Evaluator.of(Settings(), Facts()).ruleset), "tolerations"}
