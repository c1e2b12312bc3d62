"""What the hooks answer over the wire: patches, denials, and requests that they skip."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver import receive
from tests.remedies import ASK_FOR_ONE
from tests.server.client import Client
from tests.server.reviews import Json, deployment, patch_of, pod, review

OURS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
REFUSAL = (
    'GPS001 container "train" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS; '
    + ASK_FOR_ONE
)


def answer(client: Client, path: str, asked: Json) -> Any:
    """The answer to a review, after the checks that the API server makes."""
    replied = client.review(path, asked)
    assert replied.status == 200
    receive(replied.body, asked["request"], mutating=path != "/validate")
    return replied.json()


def test_pod_gets_all_edits(client: Client) -> None:
    asked = review(pod())
    operations = patch_of(answer(client, "/mutate", asked))
    assert {operation["path"] for operation in operations} == {
        "/metadata/annotations",
        "/spec/runtimeClassName",
        "/spec/tolerations",
        "/spec/volumes",
        "/spec/containers/0/env",
        "/spec/containers/0/volumeMounts",
    }


def test_path_without_hostpath_warns(client: Client) -> None:
    answered = answer(client, "/mutate/without-hostpath", review(pod()))
    assert "hostPath" not in str(patch_of(answered))
    assert "/spec/volumes" not in {operation["path"] for operation in patch_of(answered)}
    assert answered["response"]["warnings"] == [
        'GPS012 namespace "team-a" does not allow hostPath volumes, so the MPS pipe mount was not injected'
    ]


@pytest.mark.parametrize(
    ("path", "manifest", "template"),
    [("/mutate", pod(2), ""), ("/validate", pod(2), ""), ("/validate", deployment(2), "spec.template.")],
)
def test_denial_has_code_remedy_and_field(client: Client, path: str, manifest: Json, template: str) -> None:
    response = answer(client, path, review(manifest))["response"]
    assert response["allowed"] is False
    (cause,) = response["status"].pop("details")["causes"]
    ending = "\ngpushare-webhook explain GPS001"
    assert response["status"] == {"code": 403, "reason": "Forbidden", "message": REFUSAL + ending}
    assert cause["reason"] == "GPS001"
    assert REFUSAL.startswith(f"GPS001 {cause['message']}; ")
    assert cause["field"] == f'{template}spec.containers[0].resources.limits["nvidia.com/gpu"]'
    assert "patch" not in response
    assert response["auditAnnotations"]["findings"].startswith("GPS001=deny")


def test_unmutated_pod_gets_gps019(client: Client) -> None:
    response = answer(client, "/validate", review(pod()))["response"]
    assert response["allowed"] is True
    assert [warning[:6] for warning in response["warnings"]] == ["GPS019"]


def test_update_restores_toleration(client: Client) -> None:
    asked = review(pod(), "UPDATE", oldObject=pod(tolerations=[OURS]))
    assert patch_of(answer(client, "/mutate", asked)) == [{"op": "add", "path": "/spec/tolerations", "value": [OURS]}]


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath"])
def test_mutating_hooks_skip_workloads(client: Client, path: str) -> None:
    asked = review(deployment(2))
    assert answer(client, path, asked)["response"] == {"uid": asked["request"]["uid"], "allowed": True}


def test_exempt_namespace_is_skipped(client: Client) -> None:
    asked = review(pod(2), namespace="kube-system")
    assert answer(client, "/mutate", asked)["response"] == {"uid": asked["request"]["uid"], "allowed": True}
