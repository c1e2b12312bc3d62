"""Claims of dynamic resource allocation: what the reasons say about pods that have one."""

from __future__ import annotations

from typing import Any

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]


def reason(manifest: Json, group: str, kind: str) -> str:
    return OfflineEvaluator.of(Settings()).evaluate(manifest, group, kind, RequestContext("default")).reason


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
