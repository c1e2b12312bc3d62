"""What the hooks answer over the wire: patches, refusals, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver import receive
from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.reviews import Json, deployment, patch_of, pod, review
from tests.server.within import running

OURS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
REFUSAL = (
    'GPS001 container "train" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS; '
    "ask for 1, or select nodes with whole cards (nvidia.com/gpu.sharing-strategy: none)"
)


def answer(client: Client, path: str, asked: Json) -> Any:
    """The answer to a review, once the API server would take it."""
    replied = client.review(path, asked)
    assert replied.status == 200
    receive(replied.body, asked["request"], mutating=path != "/validate")
    return replied.json()


def test_a_pod_is_completed(client: Client) -> None:
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


def test_without_hostpath_no_volume_is_added_and_a_warning_says_so(client: Client) -> None:
    answered = answer(client, "/mutate/without-hostpath", review(pod()))
    assert "hostPath" not in str(patch_of(answered))
    assert "/spec/volumes" not in {operation["path"] for operation in patch_of(answered)}
    assert answered["response"]["warnings"] == [
        'GPS012 namespace "team-a" does not allow hostPath volumes, so the MPS pipe mount was not injected'
    ]


@pytest.mark.parametrize(
    ("path", "manifest"), [("/mutate", pod(2)), ("/validate", pod(2)), ("/validate", deployment(2))]
)
def test_a_refusal_has_its_code_and_its_remedy(client: Client, path: str, manifest: Json) -> None:
    response = answer(client, path, review(manifest))["response"]
    assert response["allowed"] is False
    assert response["status"] == {"code": 403, "reason": "Forbidden", "message": REFUSAL}
    assert "patch" not in response
    assert response["auditAnnotations"]["findings"].startswith("GPS001=deny")


async def test_the_mutating_hook_leaves_refusals_to_the_other_where_it_is_told_to(certificates: Certificates) -> None:
    async with running(certificates, "denyInMutate: false") as server:
        mutated = await server.ask(answer, server.client, "/mutate", review(pod(2)))
        assert mutated["response"]["allowed"] is True
        assert patch_of(mutated)
        validated = await server.ask(answer, server.client, "/validate", review(pod(2)))
        assert validated["response"]["allowed"] is False


def test_a_pod_that_was_not_completed_is_warned_about_by_the_last_hook(client: Client) -> None:
    response = answer(client, "/validate", review(pod()))["response"]
    assert response["allowed"] is True
    assert [warning[:6] for warning in response["warnings"]] == ["GPS019"]


def test_an_update_gets_back_the_toleration_that_it_lost(client: Client) -> None:
    asked = review(pod(), "UPDATE", oldObject=pod(tolerations=[OURS]))
    assert patch_of(answer(client, "/mutate", asked)) == [{"op": "add", "path": "/spec/tolerations", "value": [OURS]}]


def test_an_update_of_a_pod_gets_nothing_else(client: Client) -> None:
    assert patch_of(answer(client, "/mutate", review(pod(), "UPDATE", oldObject=pod()))) == []


UNTOUCHED = {
    "delete": review(None, "DELETE", kind={"group": "", "version": "v1", "kind": "Pod"}, oldObject=pod(2)),
    "connect": review({"apiVersion": "v1", "kind": "PodExecOptions"}, "CONNECT", subResource="exec"),
    "status": review(pod(2), "UPDATE", subResource="status", oldObject=pod(1)),
    "ephemeral containers": review(pod(2), "UPDATE", subResource="ephemeralcontainers", oldObject=pod(1)),
    "binding": review({"apiVersion": "v1", "kind": "Binding"}, subResource="binding"),
    "scale": review(
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 9}}, "UPDATE", subResource="scale"
    ),
    "another kind": review({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}),
    "a Pod of another group": review({**pod(2), "apiVersion": "example.com/v1"}),
    "an unchanged template": review(deployment(2), "UPDATE", oldObject=deployment(2)),
}


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath", "/validate"])
@pytest.mark.parametrize("asked", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_none_of_our_business_passes_untouched(client: Client, path: str, asked: Json) -> None:
    response = answer(client, path, asked)["response"]
    assert response == {"uid": asked["request"]["uid"], "allowed": True}


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath"])
def test_the_mutating_hooks_leave_workloads_alone(client: Client, path: str) -> None:
    asked = review(deployment(2))
    assert answer(client, path, asked)["response"] == {"uid": asked["request"]["uid"], "allowed": True}


def test_an_exempt_namespace_is_left_alone(client: Client) -> None:
    asked = review(pod(2), namespace="kube-system")
    assert answer(client, "/mutate", asked)["response"] == {"uid": asked["request"]["uid"], "allowed": True}
