"""New pods that try to get more than one replica, or around the checks: the chart's hooks on a real API server.

`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.hooks import DRY_POD, is_mutated, rejection
from tests.cluster.harness.manifests import GPU, annotated, container, host_path, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

PODS = "/api/v1/namespaces/default/pods"
SHARED = "nvidia.com/gpu.shared"
PLAIN = container(gpus=0)
STRATEGY = "nvidia.com/gpu.sharing-strategy"
WHOLE, MPS = {STRATEGY: "none"}, {STRATEGY: "mps"}


@pytest.fixture(scope="module", autouse=True)
def _hooks(running: ControlPlaneOnly) -> Iterator[None]:
    with chart_hooks(running):
        yield


def warnings(running: ControlPlaneOnly, manifest: Object) -> str:
    """The warnings about a new pod that the API server accepts."""
    return "\n".join(running.api.warnings("POST", DRY_POD, manifest))


def limits(amounts: Object, field: str = "limits") -> Object:
    return container(resources={field: amounts})


def two(**spec: Any) -> Object:
    return pod("two", container(gpus=2), **spec)


NOT_MPS = {"key": STRATEGY, "operator": "NotIn", "values": ["mps"]}


def affinity(*required: list[Object], preferred: list[Object] | None = None) -> Object:
    """Node affinity of these terms, each a list of expressions."""
    terms = [{"matchExpressions": expressions} for expressions in required]
    rule: Object = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}} if terms else {}
    if preferred:
        preference = {"weight": 1, "preference": {"matchExpressions": preferred}}
        rule["preferredDuringSchedulingIgnoredDuringExecution"] = [preference]
    return {"nodeAffinity": rule}


MIRROR = {"kubernetes.io/config.mirror": "0123456789abcdef"}


@pytest.mark.parametrize(
    "annotations",
    [
        {"gpushare-webhook/exempt": "true"},
        {"gpushare-webhook/ignore": "true"},
        {"gpushare-webhook/mode": "audit"},
        MIRROR,
        {"kubernetes.io/config.source": "file"},
    ],
)
def test_annotation_exempts_nothing(running: ControlPlaneOnly, annotations: dict[str, str]) -> None:
    assert TWO in rejection(running, annotated(two(), **annotations))


def test_unknown_annotation_of_webhook_warns(running: ControlPlaneOnly) -> None:
    said = warnings(running, annotated(pod("one"), **{"gpushare-webhook/exempt": "true"}))
    assert "GPS018" in said
    assert "gpushare-webhook/exempt" in said


@pytest.mark.parametrize(
    "labels", [{"gpushare-webhook/ignore": "true"}, {"kueue.x-k8s.io/queue-name": "team"}, {"app": "gpu-operator"}]
)
def test_label_exempts_nothing(running: ControlPlaneOnly, labels: dict[str, str]) -> None:
    manifest = two()
    assert TWO in rejection(running, {**manifest, "metadata": {**manifest["metadata"], "labels": labels}})


ELSEWHERE = {
    "init container": pod("x", PLAIN, initContainers=[container("main", gpus=2) | {"name": "first"}]),
    "sidecar": pod("x", PLAIN, initContainers=[{**container("side", gpus=2), "restartPolicy": "Always"}]),
    "last of fifty": pod("x", *(container(f"c{index}", gpus=2 * (index == 49)) for index in range(50))),
    "named node": two(nodeName="shared-1"),
    "named node and another scheduler": two(nodeName="shared-1", schedulerName="own"),
    "toleration of everything": two(tolerations=[{"operator": "Exists"}]),
    "own runtime class": two(runtimeClassName="nvidia"),
    "linux by name": two(os={"name": "linux"}),
    "selector of MPS nodes": two(nodeSelector=MPS),
    "unknown selector": two(nodeSelector={"pool": "mine"}),
    "another selector of Windows nodes": two(nodeSelector={"beta.kubernetes.io/os": "windows"}),
    "preferred whole cards": two(affinity=affinity(preferred=[NOT_MPS])),
    "whole cards in one of two terms": two(affinity=affinity([NOT_MPS], [{"key": "pool", "operator": "Exists"}])),
    "no scheduling gate": two(schedulingGates=[]),
    "two resources, one of them zero": pod("x", limits({"nvidia.com/mig-1g.5gb": 0, GPU: 2})),
}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_two_replicas_are_rejected_wherever_they_are_asked_for(running: ControlPlaneOnly, place: str) -> None:
    said = rejection(running, ELSEWHERE[place])
    assert 'asks for 2 of "nvidia.com/gpu"' in said
    assert "GPS001" in said


def test_generated_name_is_rejected(running: ControlPlaneOnly) -> None:
    assert TWO in rejection(running, {**two(), "metadata": {"generateName": "two-"}})


@pytest.mark.parametrize("amount", [2, "2", "2e0", "2E0", "2000m", "0.002k", "20e-1", "+2", "2.0", "02"])
def test_spelling_of_two_is_rejected(running: ControlPlaneOnly, amount: object) -> None:
    assert TWO in rejection(running, pod("two", limits({GPU: amount})))


@pytest.mark.parametrize("amount", ["1500m", "1.5", "-1"])
def test_amount_that_is_not_whole_is_rejected(running: ControlPlaneOnly, amount: str) -> None:
    assert "GPS003" in rejection(running, pod("x", limits({GPU: amount})))


def test_request_without_limit_is_rejected(running: ControlPlaneOnly) -> None:
    said = rejection(running, pod("x", limits({GPU: 2}, "requests")))
    assert "GPS003" in said
    assert TWO in said


def test_limit_and_request_that_differ_are_rejected(running: ControlPlaneOnly) -> None:
    both = container(resources={"limits": {GPU: 2}, "requests": {GPU: 1}})
    assert "GPS001" in rejection(running, pod("x", both))


def test_one_replica_in_each_of_two_containers_is_rejected(running: ControlPlaneOnly) -> None:
    assert "GPS002" in rejection(running, pod("x", container("a"), container("b")))


def test_two_shared_resources_are_rejected(running: ControlPlaneOnly) -> None:
    assert "GPS010" in rejection(running, pod("x", limits({GPU: 1, SHARED: 1})))
    assert "GPS002" in rejection(running, pod("x", container("a"), container("b", resource=SHARED)))


# The warning about another spelling; None where the API server itself rejects it.
SPELLINGS = {
    "nvidia.com/gpus": "GPS013",
    "nvidia.com/gpu.Shared": "GPS013",
    "nvidia.com/GPU": "GPS013",
    "NVIDIA.com/gpu": None,
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_spelling_of_resource_is_another_resource(running: ControlPlaneOnly, name: str) -> None:
    """No node offers it, so such a pod stays Pending."""
    expected, manifest = SPELLINGS[name], pod("x", limits({name: 2}))
    if expected is None:
        assert "Invalid value" in rejection(running, manifest)
    else:
        assert expected in warnings(running, manifest)


@pytest.mark.parametrize("member", ["limits", "requests"])
def test_gpu_in_resources_of_pod_is_denied(running: ControlPlaneOnly, member: str) -> None:
    said = rejection(running, pod("x", PLAIN, resources={member: {GPU: 2}}))
    assert 'GPS003 the pod as a whole asks for "nvidia.com/gpu"' in said


CLAIM = {"name": "gpu", "resourceClaimName": "gpu"}


def test_resource_claim_exempts_nothing(running: ControlPlaneOnly) -> None:
    asking = container(resources={"limits": {GPU: 2}, "claims": [{"name": "gpu"}]})
    assert TWO in rejection(running, pod("x", asking, resourceClaims=[CLAIM]))


def test_pod_with_resource_claim_alone_passes_unchanged(running: ControlPlaneOnly) -> None:
    claiming = pod("x", container(resources={"claims": [{"name": "gpu"}]}), resourceClaims=[CLAIM])
    assert warnings(running, claiming) == ""
    assert not is_mutated(running.api.create(DRY_POD, claiming))


def test_resource_of_device_class_passes_unchecked(running: ControlPlaneOnly) -> None:
    """The name by which Kubernetes offers a DeviceClass as an extended resource: a driver of DRA allocates it."""
    assert warnings(running, pod("x", limits({"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 2}))) == ""


@pytest.mark.parametrize("spec", [{"os": {"name": "windows"}}, {"nodeSelector": {"kubernetes.io/os": "windows"}}])
def test_windows_pod_passes_unchanged(running: ControlPlaneOnly, spec: Object) -> None:
    assert warnings(running, two(**spec)) == ""
    assert not is_mutated(running.api.create(DRY_POD, two(**spec)))


LEAVES_MPS: list[Object] = [
    {"nodeSelector": WHOLE},
    {"nodeSelector": WHOLE, "nodeName": "shared-1"},
    {"affinity": affinity([NOT_MPS])},
    {"affinity": affinity([{"key": "nvidia.com/mps.capable", "operator": "DoesNotExist"}])},
    {"nodeSelector": {"nvidia.com/gpu.replicas": "1"}},
]


@pytest.mark.parametrize("spec", LEAVES_MPS)
def test_pod_that_selects_whole_cards_passes(running: ControlPlaneOnly, spec: Object) -> None:
    assert rejection(running, two(**spec)) == ""


def test_gated_pod_cannot_widen_its_selector(running: ControlPlaneOnly) -> None:
    running.api.create(PODS, two(schedulingGates=[{"name": "example.com/queue"}], nodeSelector=WHOLE))
    try:
        for selector in ({next(iter(WHOLE)): None}, MPS):
            with pytest.raises(ApiError, match=r"spec.*Invalid value"):
                running.api.patch(f"{PODS}/two", {"spec": {"nodeSelector": selector}})
    finally:
        running.api.delete(f"{PODS}/two?gracePeriodSeconds=0")


def test_pod_cannot_change_its_resources(running: ControlPlaneOnly) -> None:
    stored = running.api.create(PODS, pod("one"))
    try:
        del stored["metadata"]["resourceVersion"]
        stored["spec"]["containers"][0]["resources"] = {"limits": {GPU: "2"}, "requests": {GPU: "2"}}
        with pytest.raises(ApiError, match="pod updates may not change fields other than"):
            running.api.call("PUT", f"{PODS}/one", stored)
    finally:
        running.api.delete(f"{PODS}/one?gracePeriodSeconds=0")


def test_update_of_image_is_not_sent(running: ControlPlaneOnly) -> None:
    running.api.create(PODS, pod("one"))
    try:
        body = {"spec": {"containers": [{"name": "main", "image": "another"}]}}
        code, headers, _ = running.api.request("PATCH", f"{PODS}/one", body, content="strategic-merge-patch+json")
        assert code == 200
        assert "Warning" not in headers
    finally:
        running.api.delete(f"{PODS}/one?gracePeriodSeconds=0")


def sees(**entry: Any) -> Object:
    return {**PLAIN, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", **entry}]}


REFERENCE = {"configMapKeyRef": {"name": "x", "key": "y"}}


@pytest.mark.parametrize("seeing", [sees(value="all"), sees(value="0"), sees(valueFrom=REFERENCE)])
def test_visible_devices_without_request_warn(running: ControlPlaneOnly, seeing: Object) -> None:
    assert "GPS007" in warnings(running, pod("x", seeing))


PASSING = {
    "image": container(gpus=0, image="nvidia/cuda"),
    "envFrom": {**PLAIN, "envFrom": [{"configMapRef": {"name": "devices"}}]},
    "privileged": {**PLAIN, "securityContext": {"privileged": True}},
}


@pytest.mark.parametrize("way", PASSING)
def test_container_without_request_passes(running: ControlPlaneOnly, way: str) -> None:
    assert warnings(running, pod("x", PASSING[way])) == ""


@pytest.mark.parametrize("way", PASSING)
def test_runtime_class_without_request_warns(running: ControlPlaneOnly, way: str) -> None:
    assert "GPS007" in warnings(running, pod("x", PASSING[way], runtimeClassName="nvidia"))


PIPE = "/run/nvidia/mps/nvidia.com/gpu/pipe"


def test_mps_directory_mounted_without_request_passes(running: ControlPlaneOnly) -> None:
    mount = {"name": "pipe", "mountPath": "/pipe"}
    client = {**PLAIN, "volumeMounts": [mount], "env": [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/pipe"}]}
    assert warnings(running, pod("x", client, volumes=[host_path("pipe", PIPE)])) == ""


MANY = [{"name": f"V{index}", "value": "x"} for index in range(20_000)]


@pytest.mark.parametrize("count", [4_990, 20_000])
def test_padding_hides_no_visible_devices(running: ControlPlaneOnly, count: int) -> None:
    hidden = {**PLAIN, "env": [*MANY[:count], {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    assert "GPS007" in warnings(running, pod("x", hidden))


def test_padding_hides_no_request(running: ControlPlaneOnly) -> None:
    many = [container(f"c{index}", gpus=0) for index in range(3_000)]
    assert 'asks for 2 of "nvidia.com/gpu"' in rejection(running, pod("x", *many, container("last", gpus=2)))


def test_many_resource_names_do_not_occupy_api_server(running: ControlPlaneOnly) -> None:
    """Reading each name in CEL took the API server longer than it gives a request, so that it answered 504."""
    names = {f"example.com/{index}": "0" for index in range(60_000)}
    assert warnings(running, pod("x", limits(names))) == ""
    said = rejection(running, pod("x", limits({**names, GPU: 2})))
    assert 'asks for 2 of "nvidia.com/gpu"' in said


def test_annotations_hide_no_visible_devices(running: ControlPlaneOnly) -> None:
    padding = {f"a{index}": "" for index in range(40_000)}
    assert "GPS007" in warnings(running, annotated(pod("x", sees(value="all")), **padding))


def test_containers_of_one_name_are_rejected(running: ControlPlaneOnly) -> None:
    assert rejection(running, pod("x", container(), container(gpus=0))) != ""
    assert "Duplicate value" in rejection(running, pod("x", PLAIN, PLAIN))
