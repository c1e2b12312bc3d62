"""Values that contradict each other are rejected with what is wrong, where, and what to do."""

from __future__ import annotations

import re

import pytest

from tests.chart.render import FULLNAME, NAMESPACE, RefusedError, Values, rendered

pytestmark = pytest.mark.slow

_PEM = "-----BEGIN CERTIFICATE-----"
_SECRET = {"name": "x", "caBundle": _PEM}
REFUSED: dict[str, tuple[Values, str]] = {
    "a secret under another mode": (
        {"tls": {"existingSecret": {"name": "x"}}},
        "tls.existingSecret.name is set, but tls.mode is self-managed: set tls.mode to existing-secret",
    ),
    "an issuer under another mode": (
        {"tls": {"mode": "existing-secret", "existingSecret": _SECRET, "certManager": {"issuerRef": {"name": "x"}}}},
        "tls.certManager.issuerRef is set, but tls.mode is existing-secret: set tls.mode to cert-manager",
    ),
    "two writers of the authority": (
        {"tls": {"mode": "existing-secret", "existingSecret": _SECRET | {"annotations": {"a": "b"}}}},
        "both would write the authority",
    ),
    "another writer by an annotation": (
        {"webhooks": {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}},
        "webhooks.annotations has cert-manager.io/inject-ca-from",
    ),
    "a certificate that is renewed before it is made": (
        {"tls": {"mode": "cert-manager", "certManager": {"duration": "1h", "renewBefore": "60m"}}},
        "tls.certManager.duration 1h is not longer than renewBefore 60m",
    ),
    "an autoscaler that must not": (
        {"autoscaling": {"enabled": True, "minReplicas": 7}},
        "autoscaling.minReplicas 7 is more than maxReplicas 6",
    ),
    "a budget of all": (
        {"podDisruptionBudget": {"minAvailable": 2}},
        "minAvailable 2 of 2 replicas allows no disruption",
    ),
    "a budget of all, in percent, of which the API server rounds up": (
        {"podDisruptionBudget": {"minAvailable": "51%"}},
        "minAvailable 51% of 2 replicas allows no disruption",
    ),
    "a budget of all an autoscaler leaves": (
        {"replicas": 9, "autoscaling": {"enabled": True}, "podDisruptionBudget": {"minAvailable": 2}},
        "minAvailable 2 of 2 replicas allows no disruption",
    ),
    "a budget of the only replica that an autoscaler leaves": (
        {"autoscaling": {"enabled": True, "minReplicas": 1}, "podDisruptionBudget": {"minAvailable": 1}},
        "minAvailable 1 of 1 replicas allows no disruption",
    ),
    "a quota of the replicas alone": (
        {"resourceQuota": {"pods": 2}},
        "resourceQuota.pods 2 leaves no room to update 2 replicas: increase it",
    ),
    "a quota of all that an autoscaler may start": (
        {"resourceQuota": {"pods": 6}, "autoscaling": {"enabled": True}},
        "resourceQuota.pods 6 leaves no room to update 6 replicas",
    ),
    "a budget of nothing": ({"podDisruptionBudget": {"maxUnavailable": 0}}, "maxUnavailable is 0"),
    "a budget without a number": ({"podDisruptionBudget": {"maxUnavailable": None}}, "are both null"),
    "a node's port without nodes": ({"service": {"nodePort": 30443}}, "service.nodePort is set, but service.type is"),
    "no time to stop": (
        {"terminationGracePeriodSeconds": 19},
        "terminationGracePeriodSeconds 19 is shorter than the 20 of config.server.shutdownDelay and drainTimeout",
    ),
    "a condition's name twice": (
        {"webhooks": {"matchConditions": [{"name": "a", "expression": "true"}] * 2}},
        "webhooks.matchConditions uses a name twice",
    ),
    "another secret": ({"tls": {"mode": "existing-secret"}}, "set the Secret in tls.existingSecret.name"),
    "no authority": (
        {"tls": {"mode": "existing-secret", "existingSecret": {"name": "x"}}},
        "set the authority in tls.existingSecret.caBundle, or the annotation that makes",
    ),
    "the kubelet's port": ({"hostNetwork": True}, "port 10250 of a node is the kubelet's"),
    "a free port": ({"config": {"server": {"port": 0}}}, "must not be 0 here"),
    "one port twice": ({"config": {"server": {"port": 8080}}}, "are both 8080"),
    "clients without their authority": (
        {"tls": {"clientCA": {"secretName": "x"}}},
        "set config.tls.clientCA to /etc/gpushare-webhook/client-ca/ca.crt",
    ),
    "an authority without its secret": (
        {"config": {"tls": {"clientCA": "/etc/gpushare-webhook/client-ca/ca.crt"}}},
        "set its Secret in tls.clientCA.secretName",
    ),
    "a url that no certificate holds": (
        {"webhooks": {"url": "https://gpus.example.com"}},
        "add gpus.example.com to config.tls.extraHosts",
    ),
}


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
