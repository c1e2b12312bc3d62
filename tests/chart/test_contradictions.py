"""Values that contradict each other are rejected with what is wrong, where, and what to do."""

from __future__ import annotations

import re

import pytest

from tests.chart.render import FULLNAME, NAMESPACE, RefusedError, refused, rendered

pytestmark = pytest.mark.slow


REFUSED = refused("contradictions")


@pytest.mark.parametrize("label", REFUSED)
def test_contradicting_values_are_rejected(label: str) -> None:
    values, message = REFUSED[label]
    with pytest.raises(RefusedError, match=re.escape(message)):
        rendered(values)


def test_self_managed_url_with_covered_host_is_accepted() -> None:
    assert rendered({"webhooks": {"url": f"https://{FULLNAME}.{NAMESPACE}.svc:30443"}})
    for host, url in (("gpus.example.com", "https://gpus.example.com"), ("fd00::1", "https://[fd00::1]:8443")):
        assert rendered({"webhooks": {"url": url}, "config": {"tls": {"extraHosts": [host]}}})


def test_disruption_budget_that_allows_eviction_is_accepted() -> None:
    for amount in (1, "50%", 0):
        assert rendered({"podDisruptionBudget": {"minAvailable": amount}})
