"""The rules of ValidatingAdmissionPolicies, one module for each code."""

from __future__ import annotations

from webhook.inprocess.validating import gps001, gps002, gps003, gps004, gps009, gps010, gps015, gps017, gps018
from webhook.inprocess.validating.rule import Rule

RULES: tuple[Rule, ...] = (
    gps001.RULE,
    gps002.RULE,
    gps003.RULE,
    gps004.RULE,
    gps009.RULE,
    gps010.RULE,
    gps015.RULE,
    gps017.RULE,
    gps018.RULE,
)
"""All of them, in the order of their codes."""
