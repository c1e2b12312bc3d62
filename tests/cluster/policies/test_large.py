"""The largest objects that the API server takes: the policies deny what is over the limit, or fail and deny it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.sides import POLICED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.policies.sides import Sides

REQUEST = 3 * 2**20
"""Bytes of the largest request that the API server reads."""

SECONDS = 60
"""The API server ends a request after this time."""


@pytest.fixture(scope="module", autouse=True)
def policies(both: Sides, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed(both.running, exported(tmp_path_factory.mktemp("policies"), None)):
        yield


def _containers(count: int) -> Callable[[int], Object]:
    def made(gpus: int) -> Object:
        others = [{"name": f"c{number}", "image": "i"} for number in range(count - 1)]
        return pod("many-containers", *others, container("last", gpus=gpus))

    return made


def _names(count: int) -> Callable[[int], Object]:
    def made(gpus: int) -> Object:
        names = {f"a.b/c{number}": "1" for number in range(count)}
        return pod("many-names", container(gpus=0, resources={"limits": {**names, GPU: str(gpus)}}))

    return made


def _annotations(count: int) -> Callable[[int], Object]:
    def made(gpus: int) -> Object:
        asking = pod("many-annotations", container(gpus=gpus))
        return {
            **asking,
            "metadata": {**asking["metadata"], "annotations": {f"a{number}": "" for number in range(count)}},
        }

    return made


def _variables(count: int) -> Callable[[int], Object]:
    def made(gpus: int) -> Object:
        env = [{"name": f"V{number}", "value": "x"} for number in range(count)]
        return pod("many-variables", container(gpus=gpus, env=env))

    return made


LARGE: dict[str, Callable[[int], Object]] = {
    "20,000 containers": _containers(20_000),
    "60,000 resource names": _names(60_000),
    "20,000 annotations": _annotations(20_000),
    "60,000 variables": _variables(60_000),
    "1,000 containers": _containers(1_000),
    "900 resource names": _names(900),
}


@pytest.mark.exhaustive(every=len(LARGE))
@pytest.mark.parametrize("size", LARGE)
def test_large_pod_over_limit_is_denied(both: Sides, size: str, record_property: Callable[[str, Any], None]) -> None:
    began = time.monotonic()
    answer = both.create(LARGE[size](2), POLICED)
    took = time.monotonic() - began
    record_property(size, f"{answer.status} after {took:.1f} s: {answer.message[:160]}")
    assert "GPS0" in answer.message
    assert took < SECONDS


@pytest.mark.exhaustive
def test_api_server_refuses_larger_request(both: Sides) -> None:
    answer = both.create(_annotations(300_000)(2), POLICED)
    assert (answer.status, answer.message) == (413, f"Request entity too large: limit is {REQUEST}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", ["1,000 containers", "900 resource names"])
def test_pod_within_stated_size_is_changed(both: Sides, size: str) -> None:
    answer = both.create(LARGE[size](1), POLICED)
    assert answer.status == 201, answer.message
    assert "gpushare-webhook/injected" in answer.made["metadata"]["annotations"]
