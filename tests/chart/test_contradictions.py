"""Values that contradict each other are rejected with what is wrong, where, and what to do."""

from __future__ import annotations

import re

import pytest

from tests.chart.render import FULLNAME, NAMESPACE, RefusedError, Values, rendered

pytestmark = pytest.mark.slow

_PEM = "-----BEGIN CERTIFICATE-----"
_SECRET = {"name": "x", "caBundle": _PEM}
REFUSED: dict[str, tuple[Values, str]] = {
    "an image of no registry": (
        {"image": {"registry": ""}},
        "image.registry is empty, and this project publishes no image: build the image, push it to your registry, and "
        "set image.registry (docs/how-to/install.md)",
    ),
    "a tag of an image of no registry": ({"image": {"registry": "", "tag": "v1"}}, "image.registry is empty"),
    "a network policy without peers": (
        {"networkPolicy": {"enabled": True}},
        "networkPolicy.webhookFrom is empty, so that the API server could not reach the webhook: set it to the API "
        "server as the pods see it",
    ),
    "a Secret in another mode": (
        {"tls": {"existingSecret": {"name": "x"}}},
        "tls.existingSecret.name is set, but tls.mode is self-managed: set tls.mode to existing-secret",
    ),
    "an issuer in another mode": (
        {"tls": {"mode": "existing-secret", "existingSecret": _SECRET, "certManager": {"issuerRef": {"name": "x"}}}},
        "tls.certManager.issuerRef is set, but tls.mode is existing-secret: set tls.mode to cert-manager",
    ),
    "two writers of the authority": (
        {"tls": {"mode": "existing-secret", "existingSecret": _SECRET | {"annotations": {"a": "b"}}}},
        "both would write the authority",
    ),
    "a second writer through an annotation": (
        {"webhooks": {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}},
        "webhooks.annotations has cert-manager.io/inject-ca-from",
    ),
    "a disruption budget that keeps every replica": (
        {"podDisruptionBudget": {"minAvailable": 2}},
        "minAvailable 2 of 2 replicas allows no disruption",
    ),
    "a percentage that the API server rounds up to every replica": (
        {"podDisruptionBudget": {"minAvailable": "51%"}},
        "minAvailable 51% of 2 replicas allows no disruption",
    ),
    "a disruption budget that keeps every replica of the autoscaler's minimum": (
        {"replicas": 9, "autoscaling": {"enabled": True}, "podDisruptionBudget": {"minAvailable": 2}},
        "minAvailable 2 of 2 replicas allows no disruption",
    ),
    "a disruption budget that keeps the only replica of the autoscaler's minimum": (
        {"autoscaling": {"enabled": True, "minReplicas": 1}, "podDisruptionBudget": {"minAvailable": 1}},
        "minAvailable 1 of 1 replicas allows no disruption",
    ),
    "a quota without room for an update": (
        {"resourceQuota": {"pods": 2}},
        "resourceQuota.pods 2 leaves no room to update 2 replicas: increase it",
    ),
    "a quota without room for an update of an autoscaler's maximum": (
        {"resourceQuota": {"pods": 6}, "autoscaling": {"enabled": True}},
        "resourceQuota.pods 6 leaves no room to update 6 replicas",
    ),
    "a disruption budget of zero": ({"podDisruptionBudget": {"maxUnavailable": 0}}, "maxUnavailable is 0"),
    "a disruption budget without a number": ({"podDisruptionBudget": {"maxUnavailable": None}}, "are both null"),
    "a grace period that is too short": (
        {"terminationGracePeriodSeconds": 19},
        "terminationGracePeriodSeconds 19 is shorter than the 20 of config.server.shutdownDelay and drainTimeout",
    ),
    "no Secret in existing-secret mode": (
        {"tls": {"mode": "existing-secret"}},
        "set the Secret in tls.existingSecret.name",
    ),
    "no authority in existing-secret mode": (
        {"tls": {"mode": "existing-secret", "existingSecret": {"name": "x"}}},
        "set the authority in tls.existingSecret.caBundle, or the annotation that makes",
    ),
    "the port of the kubelet": ({"hostNetwork": True}, "port 10250 of a node is the kubelet's"),
    "port zero": ({"config": {"server": {"port": 0}}}, "must not be 0 here"),
    "a client authority that the server does not read": (
        {"tls": {"clientCA": {"secretName": "x"}}},
        "set config.tls.clientCA to /etc/gpushare-webhook/client-ca/ca.crt",
    ),
    "a client authority without its Secret": (
        {"config": {"tls": {"clientCA": "/etc/gpushare-webhook/client-ca/ca.crt"}}},
        "set its Secret in tls.clientCA.secretName",
    ),
    "a URL that no certificate contains": (
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
