"""New pods that try to get more than one replica, or around the checks: the chart's hooks on a real API server.

`docs/explanation/bypass.md` lists each attempt with its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.chart_hooks import TWO, chart_hooks
from tests.cluster.harness.hooks import DRY_POD, is_mutated, rejection
from tests.cluster.harness.manifests import GPU, PODS, SHARED, STRATEGY, annotated, container, host_path, labelled, pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

pytestmark = pytest.mark.usefixtures("clean")

PLAIN = container(gpus=0)
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


def test_unknown_annotation_of_webhook_warns(running: ControlPlaneOnly) -> None:
    said = warnings(running, annotated(pod("one"), **{"gpushare-webhook/exempt": "true"}))
    assert "GPS018" in said
    assert "gpushare-webhook/exempt" in said


CLAIM = {"name": "gpu", "resourceClaimName": "gpu"}
ANNOTATIONS = {
    "gpushare-webhook/exempt": "true",
    "gpushare-webhook/ignore": "true",
    "gpushare-webhook/mode": "audit",
    "kubernetes.io/config.mirror": "0123456789abcdef",
    "kubernetes.io/config.source": "file",
}
LABELS = {"gpushare-webhook/ignore": "true", "kueue.x-k8s.io/queue-name": "team", "app": "gpu-operator"}
SPELLINGS_OF_TWO = [2, "2", "2e0", "2E0", "2000m", "0.002k", "20e-1", "+2", "2.0", "02"]
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
    "generated name": {**two(), "metadata": {"generateName": "two-"}},
    "beside a resource claim": pod(
        "x", container(resources={"limits": {GPU: 2}, "claims": [{"name": "gpu"}]}), resourceClaims=[CLAIM]
    ),
    "behind 3,000 containers": pod(
        "x", *(container(f"c{index}", gpus=0) for index in range(3_000)), container("last", gpus=2)
    ),
    **{f"annotation {key}": annotated(two(), **{key: value}) for key, value in ANNOTATIONS.items()},
    **{f"label {key}": labelled(two(), **{key: value}) for key, value in LABELS.items()},
    **{f"written as {amount!r}": pod("x", limits({GPU: amount})) for amount in SPELLINGS_OF_TWO},
}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_two_replicas_are_rejected_wherever_they_are_asked_for(running: ControlPlaneOnly, place: str) -> None:
    said = rejection(running, ELSEWHERE[place])
    assert 'asks for 2 of "nvidia.com/gpu"' in said
    assert "GPS001" in said


# What the rejection says.
AMOUNTS: dict[str, tuple[Object, list[str]]] = {
    **{f"{amount} of a GPU": (pod("x", limits({GPU: amount})), ["GPS003"]) for amount in ("1500m", "1.5", "-1")},
    "request without limit": (pod("x", limits({GPU: 2}, "requests")), ["GPS003", TWO]),
    "request unlike its limit": (
        pod("x", container(resources={"limits": {GPU: 2}, "requests": {GPU: 1}})),
        ["GPS001"],
    ),
    "one replica in each of two containers": (pod("x", container("a"), container("b")), ["GPS002"]),
    "two resources": (pod("x", limits({GPU: 1, SHARED: 1})), ["GPS010"]),
    "two resources in two containers": (pod("x", container("a"), container("b", resource=SHARED)), ["GPS002"]),
    **{
        f"{member} of the pod as a whole": (
            pod("x", PLAIN, resources={member: {GPU: 2}}),
            ['GPS003 the pod as a whole asks for "nvidia.com/gpu"'],
        )
        for member in ("limits", "requests")
    },
}


@pytest.mark.parametrize("amount", AMOUNTS)
def test_other_amount_is_rejected(running: ControlPlaneOnly, amount: str) -> None:
    manifest, expected = AMOUNTS[amount]
    said = rejection(running, manifest)
    assert [text for text in expected if text not in said] == []


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
    for selector in ({next(iter(WHOLE)): None}, MPS):
        with pytest.raises(ApiError, match=r"spec.*Invalid value"):
            running.api.patch(f"{PODS}/two", {"spec": {"nodeSelector": selector}})


def test_pod_cannot_change_its_resources(running: ControlPlaneOnly) -> None:
    stored = running.api.create(PODS, pod("one"))
    del stored["metadata"]["resourceVersion"]
    stored["spec"]["containers"][0]["resources"] = {"limits": {GPU: "2"}, "requests": {GPU: "2"}}
    with pytest.raises(ApiError, match="pod updates may not change fields other than"):
        running.api.call("PUT", f"{PODS}/one", stored)


def test_update_of_image_is_not_sent(running: ControlPlaneOnly) -> None:
    running.api.create(PODS, pod("one"))
    body = {"spec": {"containers": [{"name": "main", "image": "another"}]}}
    code, headers, _ = running.api.request("PATCH", f"{PODS}/one", body, content="strategic-merge-patch+json")
    assert code == 200
    assert "Warning" not in headers


def sees(**entry: Any) -> Object:
    return {**PLAIN, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", **entry}]}


MANY = [{"name": f"V{index}", "value": "x"} for index in range(20_000)]
WITHOUT_REQUEST = {
    "image": container(gpus=0, image="nvidia/cuda"),
    "envFrom": {**PLAIN, "envFrom": [{"configMapRef": {"name": "devices"}}]},
    "privileged": {**PLAIN, "securityContext": {"privileged": True}},
}
SEEING = {
    "all": pod("x", sees(value="all")),
    "first": pod("x", sees(value="0")),
    "reference": pod("x", sees(valueFrom={"configMapKeyRef": {"name": "x", "key": "y"}})),
    "behind 4,990 variables": pod("x", {**PLAIN, "env": MANY[:4_990] + sees(value="all")["env"]}),
    "behind 20,000 variables": pod("x", {**PLAIN, "env": MANY + sees(value="all")["env"]}),
    "behind 40,000 annotations": annotated(pod("x", sees(value="all")), **{f"a{index}": "" for index in range(40_000)}),
    **{f"runtime class and {way}": pod("x", held, runtimeClassName="nvidia") for way, held in WITHOUT_REQUEST.items()},
}


@pytest.mark.parametrize("way", SEEING)
def test_pod_that_sees_gpus_without_request_warns(running: ControlPlaneOnly, way: str) -> None:
    assert "GPS007" in warnings(running, SEEING[way])


UNCHANGED = {
    **{way: pod("x", held) for way, held in WITHOUT_REQUEST.items()},
    "resource claim": pod("x", container(resources={"claims": [{"name": "gpu"}]}), resourceClaims=[CLAIM]),
    # The name by which Kubernetes offers a DeviceClass as an extended resource: a driver of DRA allocates it.
    "device class": pod("x", limits({"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 2})),
    "Windows by its field": two(os={"name": "windows"}),
    "Windows by its selector": two(nodeSelector={"kubernetes.io/os": "windows"}),
}


@pytest.mark.parametrize("way", UNCHANGED)
def test_pod_passes_unchanged(running: ControlPlaneOnly, way: str) -> None:
    assert warnings(running, UNCHANGED[way]) == ""
    assert not is_mutated(running.api.create(DRY_POD, UNCHANGED[way]))


PIPE = "/run/nvidia/mps/nvidia.com/gpu/pipe"


def test_mps_directory_mounted_without_request_passes(running: ControlPlaneOnly) -> None:
    mount = {"name": "pipe", "mountPath": "/pipe"}
    client = {**PLAIN, "volumeMounts": [mount], "env": [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/pipe"}]}
    assert warnings(running, pod("x", client, volumes=[host_path("pipe", PIPE)])) == ""


def test_many_resource_names_do_not_occupy_api_server(running: ControlPlaneOnly) -> None:
    """Reading each name in CEL took the API server longer than it gives a request, so that it answered 504."""
    names = {f"example.com/{index}": "0" for index in range(60_000)}
    assert warnings(running, pod("x", limits(names))) == ""
    said = rejection(running, pod("x", limits({**names, GPU: 2})))
    assert 'asks for 2 of "nvidia.com/gpu"' in said


def test_containers_of_one_name_are_rejected(running: ControlPlaneOnly) -> None:
    assert rejection(running, pod("x", container(), container(gpus=0))) != ""
    assert "Duplicate value" in rejection(running, pod("x", PLAIN, PLAIN))
