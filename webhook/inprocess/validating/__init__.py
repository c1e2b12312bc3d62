"""The rules of ValidatingAdmissionPolicies, one module for each code."""

from __future__ import annotations

from webhook.inprocess.validating import gps001
from webhook.inprocess.validating.rule import Rule

RULES: tuple[Rule, ...] = (gps001.RULE,)
"""All of them, in the order of their codes."""
