"""What the hooks answer over the wire: patches, denials, and requests that they skip."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver import receive
from tests.server.client import Client
from tests.server.reviews import Json, deployment, patch_of, pod, review


def answer(client: Client, path: str, asked: Json) -> Any:
    """The answer to a review, after the checks that the API server makes."""
    replied = client.review(path, asked)
    assert replied.status == 200
    receive(replied.body, asked["request"], mutating=path != "/validate")
    return replied.json()


def test_path_without_hostpath_mounts_none(client: Client) -> None:
    answered = answer(client, "/mutate/without-hostpath", review(pod()))
    assert "hostPath" not in str(patch_of(answered))
    assert "/spec/volumes" not in {operation["path"] for operation in patch_of(answered)}
    assert "warnings" not in answered["response"], "the device plugin mounts the directory itself"


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath"])
def test_mutating_hooks_skip_workloads(client: Client, path: str) -> None:
    asked = review(deployment(2))
    assert answer(client, path, asked)["response"] == {"uid": asked["request"]["uid"], "allowed": True}
