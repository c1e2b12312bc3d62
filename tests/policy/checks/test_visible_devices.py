"""GPS007 knows values of variables that hide the GPUs for which a container asks."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import DeviceClass
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

GPU = "nvidia.com/gpu"


def findings(container: Json, facts: Facts = UNKNOWN, **spec: Any) -> list[tuple[str, str]]:
    """The message and the remedy of each finding of GPS007 about a container."""
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", **container}], **spec}}
    settings = Settings(severities=dict.fromkeys(("GPS001", "GPS002"), "off"))
    found = OfflineEvaluator.of(settings, facts).evaluate(pod, "", "Pod", RequestContext("default")).findings
    return [(str(one.message), one.remedy) for one in found if one.code == "GPS007"]


def asking(gpus: int | str, name: str, value: str | None = None, resource: str = GPU, **more: Any) -> Json:
    entry = {"name": name} if value is None else {"name": name, "value": value}
    return {"resources": {"limits": {resource: gpus}}, "env": [entry], **more}


@pytest.mark.parametrize("value", ["void", "none", "", None])
def test_value_without_devices_hides_gpu_of_container(value: str | None) -> None:
    message = f'container "c" sets NVIDIA_VISIBLE_DEVICES to "{value or ""}", which hides its GPU'
    remedy = "remove NVIDIA_VISIBLE_DEVICES; the device plugin sets it"
    assert findings(asking(1, "NVIDIA_VISIBLE_DEVICES", value)) == [(message, remedy)]


@pytest.mark.parametrize("resources", [{}, {"limits": {GPU: 0}}, {"limits": {"cpu": 1}}, {"limits": {"rdma/hca": 1}}])
def test_container_without_gpu_may_set_void(resources: Json) -> None:
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}, {"name": "CUDA_VISIBLE_DEVICES", "value": "-1"}]
    assert findings({"resources": resources, "env": env}) == []


@pytest.mark.parametrize(
    ("resources", "remedy"),
    [
        ({"limits": {GPU: 1}}, "remove NVIDIA_VISIBLE_DEVICES; the device plugin sets it"),
        ({"claims": [{"name": "gpu"}]}, "remove NVIDIA_VISIBLE_DEVICES; the device plugin sets it"),
        ({"limits": {GPU: 0}}, "omit it, or set it to void"),
        ({"limits": {"cpu": 1}}, "omit it, or set it to void"),
    ],
)
def test_remedy_for_more_devices_keeps_gpu(resources: Json, remedy: str) -> None:
    container = {"resources": resources, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    assert [one for _, one in findings(container)] == [remedy]


def test_void_hides_nothing_where_device_class_serves_resource() -> None:
    facts = Facts(device_classes=(DeviceClass("gpu.nvidia.com", GPU),))
    assert findings(asking(1, "NVIDIA_VISIBLE_DEVICES", "void"), facts) == []


HIDES = "which hides its GPUs from CUDA"
BEYOND = "beyond the GPUs that it requests"
CUDA_REMEDY = "remove CUDA_VISIBLE_DEVICES; CUDA counts the container's GPUs from 0"


@pytest.mark.parametrize(
    ("gpus", "value", "problem"),
    [
        (1, "", HIDES),
        (1, None, HIDES),
        (1, "-1", HIDES),
        (1, "NoDevFiles", HIDES),
        (1, "all", HIDES),
        (1, ",0", HIDES),
        (2, "0,0", HIDES),
        (1, "1", BEYOND),
        ("1", "+7", BEYOND),
        (2, "0,1,2", BEYOND),
        (1, "9" * 5_000, BEYOND),
    ],
)
def test_value_that_hides_gpus_from_cuda(gpus: int | str, value: str | None, problem: str) -> None:
    ((message, remedy),) = findings(asking(gpus, "CUDA_VISIBLE_DEVICES", value))
    assert message.startswith('container "c" sets CUDA_VISIBLE_DEVICES to "')
    assert message.endswith(f'", {problem}')
    assert remedy == CUDA_REMEDY


@pytest.mark.parametrize(
    ("gpus", "value"),
    [
        (1, "0"),
        (1, " 0"),
        (1, "0,-1"),
        (2, "1"),
        (4, "0,2"),
        (1, "GPU-5c1f0c8a-0e34-4f2b-b0a6-1b1c1a6a3b7e"),
        (1, "$(DEVICES)"),
        ("0.5", "0"),
    ],
)
def test_value_that_leaves_cuda_a_gpu(gpus: int | str, value: str) -> None:
    assert findings(asking(gpus, "CUDA_VISIBLE_DEVICES", value)) == []


def test_reference_of_cuda_is_not_checked() -> None:
    source = {"fieldRef": {"fieldPath": "metadata.labels['devices']"}}
    env = [{"name": "CUDA_VISIBLE_DEVICES", "valueFrom": source}]
    assert findings({"resources": {"limits": {GPU: 1}}, "env": env}) == []


def test_indices_of_several_resources_add_up() -> None:
    both = {GPU: 1, "nvidia.com/mig-1g.5gb": 2}
    for value, count in (("0,1,2", 0), ("3", 1)):
        env = [{"name": "CUDA_VISIBLE_DEVICES", "value": value}]
        assert len(findings({"resources": {"limits": both}, "env": env})) == count


def test_claim_may_give_gpus_of_any_index() -> None:
    resources = {"limits": {GPU: 1}, "claims": [{"name": "gpu"}]}
    for value, count in (("1", 0), ("-1", 1)):
        env = [{"name": "CUDA_VISIBLE_DEVICES", "value": value}]
        assert len(findings({"resources": resources, "env": env})) == count
