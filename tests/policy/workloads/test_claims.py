"""Claims of dynamic resource allocation: what the reasons say about them, and about pods that have one."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

PLAIN = "it claims devices by their class"
PARTS = "it claims parts of devices by their class"
MPS = "it claims devices that are shared through MPS"


def shared(strategy: object) -> Json:
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": strategy}}
    return {"requests": [], "config": [{"opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}]}


MEMORY = {"deviceClassName": "gpu.nvidia.com", "capacity": {"requests": {"memory": "4Gi"}}}

DEVICES = [
    (shared("MPS"), MPS),
    ({**shared("MPS"), "requests": [{"name": "a", "exactly": MEMORY}]}, MPS),
    (shared("TimeSlicing"), PLAIN),
    (shared(["MPS"]), PLAIN),
    ({"requests": [{"name": "a", "exactly": MEMORY}]}, PARTS),
    ({"requests": [{"name": "a", "firstAvailable": [{"deviceClassName": "b"}, MEMORY]}]}, PARTS),
    ({"requests": [{"name": "a", **MEMORY}]}, PARTS),
    ({"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com", "capacity": {}}}]}, PLAIN),
    ({"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com"}}], "config": None}, PLAIN),
    ({"requests": {"capacity": {"requests": {"memory": "4Gi"}}}, "config": {"opaque": 1}}, PLAIN),
    ({"requests": ["text"], "config": ["text"]}, PLAIN),
    (None, PLAIN),
]


def reason(manifest: Json, group: str, kind: str) -> str:
    return OfflineEvaluator.of(Settings()).evaluate(manifest, group, kind, RequestContext("default")).reason


@pytest.mark.parametrize(("devices", "said"), DEVICES)
def test_claim_says_how_it_shares_devices(devices: object, said: str) -> None:
    expected = f"skipped: {said} and runs no pods"
    assert reason({"spec": {"devices": devices}}, "resource.k8s.io", "ResourceClaim") == expected
    assert reason({"spec": {"spec": {"devices": devices}}}, "resource.k8s.io", "ResourceClaimTemplate") == expected


def test_devices_are_where_the_kind_has_them() -> None:
    assert PLAIN in reason({"spec": {"spec": {"devices": shared("MPS")}}}, "resource.k8s.io", "ResourceClaim")
    assert PLAIN in reason({"spec": {"devices": shared("MPS")}}, "resource.k8s.io", "ResourceClaimTemplate")
    assert "shared" not in reason({"spec": {"devices": shared("MPS")}}, "example.com", "ResourceClaim")


def pod(**spec: object) -> Json:
    return {"spec": {"containers": [{"name": "c"}], **spec}}


CLAIM = [{"name": "gpu", "resourceClaimTemplateName": "shared-gpu"}]
OPEN = "open: its resource claims, which may give it GPUs, are not checked"


def test_pod_with_claim_says_that_it_is_not_checked() -> None:
    assert reason(pod(resourceClaims=CLAIM), "", "Pod") == OPEN
    template = {"spec": {"template": pod(resourceClaims=CLAIM)}}
    assert reason(template, "apps", "Deployment") == OPEN
    requesting = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    assert reason(pod(resourceClaims=CLAIM, containers=[requesting]), "", "Pod") == OPEN


def test_pod_without_claim_says_nothing_of_claims() -> None:
    assert reason(pod(), "", "Pod") == ""
    assert reason(pod(resourceClaims=[]), "", "Pod") == ""


def test_gated_pod_with_claim_says_that_it_is_gated() -> None:
    assert reason(pod(resourceClaims=CLAIM, schedulingGates=[{"name": "g"}]), "", "Pod").startswith("gated: ")
