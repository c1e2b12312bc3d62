"""Advice about MPS on a command line that no settings and facts describe a cluster to: only where something shows MPS.

Fixtures cover the rest, since they describe the cluster by their settings.
"""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node
from webhook.policy.placement.facts import NOTHING_SHOWN, UNKNOWN, Shown
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Verdict

Json = dict[str, Any]

ACCELERATOR = "cloud.google.com/gke-accelerator"
SHARING = "cloud.google.com/gke-gpu-sharing-strategy"
ON_L4 = {"key": ACCELERATOR, "operator": "In", "values": ["nvidia-l4"]}
IN_ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
ON_MPS = {"key": "nvidia.com/gpu.sharing-strategy", "operator": "In", "values": ["mps"]}

ADVISED = {"GPS005", "GPS008", "GPS009", "GPS020"}
"""The codes of the advice that the pod of these tests gets where MPS is shown."""


def required(*terms: Json) -> Json:
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": node}}


def asking(user: int, **fields: Any) -> Json:
    return {
        "name": f"c{user}",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - a path in the container
        "command": ["torchrun", "--nnodes", "2", "train.py"],
        "securityContext": {"runAsUser": user},
        **fields,
    }


def verdict(
    spec: Json, *, shown: Shown = NOTHING_SHOWN, annotations: Json | None = None, described: bool = False
) -> Verdict:
    evaluator = OfflineEvaluator.of(Settings(), UNKNOWN, shown)
    evaluator = evaluator if described else evaluator.undescribed()
    whole = {
        "containers": [asking(1), asking(2)],
        "volumes": [{"name": "shm", "emptyDir": {}}],
        "hostIPC": True,
        "hostUsers": False,
        **spec,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": whole,
    }
    return evaluator.evaluate(pod, "", "Pod", RequestContext("default"))


def codes(found: Verdict) -> set[str]:
    return {one.code for one in found.findings}


def shown_node(strategy: str, replicas: str = "4") -> Node:
    labels = {
        "nvidia.com/gpu.sharing-strategy": strategy,
        "nvidia.com/mps.capable": str(strategy == "mps").lower(),
        "nvidia.com/gpu.replicas": replicas,
        "nvidia.com/gpu.product": "NVIDIA-L4-SHARED",
    }
    return Node("n", labels, (), {"nvidia.com/gpu": 4})


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"nodeSelector": {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps"}}, NOTHING_SHOWN),
        ({}, Shown(strategies=frozenset({"mps", "none"}))),
        ({}, Shown(nodes=(shown_node("mps"),))),
    ],
    ids=["selector", "configuration", "node"],
)
def test_advice_is_given_where_something_shows_mps(spec: Json, shown: Shown) -> None:
    assert codes(verdict(spec, shown=shown)) == {"GPS002", *ADVISED}


def test_settings_of_a_webhook_show_mps() -> None:
    assert codes(verdict({}, described=True)) == {"GPS002", *ADVISED}


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({}, NOTHING_SHOWN),
        ({"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L4-SHARED"}}, NOTHING_SHOWN),
        (required({"matchExpressions": [ON_MPS]}, {"matchExpressions": [IN_ZONE]}), NOTHING_SHOWN),
        ({"nodeSelector": {"disk": "ssd"}}, Shown(nodes=(shown_node("time-slicing"),))),
        ({"nodeSelector": {ACCELERATOR: "nvidia-l4"}}, NOTHING_SHOWN),
    ],
    ids=["nothing", "shared product", "one of two terms", "another node that time-slices", "GKE"],
)
def test_advice_is_counted_and_left_out_where_nothing_shows_mps(spec: Json, shown: Shown) -> None:
    found = verdict(spec, shown=shown)
    assert codes(found) == {"GPS002"}, "a denial stays"
    assert found.left_out().keys() == ADVISED - ({"GPS005"} if ACCELERATOR in str(spec) else set())
    assert found.omitted() == {}
    assert found.users == ()


def test_object_with_nothing_but_advice_is_allowed() -> None:
    found = verdict({"containers": [asking(1)]})
    assert (found.decision.label, found.findings) == ("allowed", ())
    assert found.left_out() == {"GPS005": 1, "GPS009": 2, "GPS020": 1}


def test_sandbox_is_no_obstacle_where_nothing_shows_mps() -> None:
    assert codes(verdict({"runtimeClassName": "gvisor"})) == {"GPS002"}
    assert "GPS011" in codes(verdict({"runtimeClassName": "gvisor"}, described=True))


GKE: list[tuple[Json, Json]] = [
    ({"nodeSelector": {SHARING: "mps"}}, {}),
    ({"nodeSelector": {SHARING: "mps", "cloud.google.com/compute-class": "gpu"}}, {}),
    ({"nodeSelector": {SHARING: "mps"}}, {"gke-gcsfuse/volumes": "true"}),
    (required({"matchExpressions": [IN_ZONE, {"key": SHARING, "operator": "In", "values": ["mps"]}]}), {}),
]


@pytest.mark.parametrize(("placed", "annotations"), GKE)
def test_pod_of_mps_nodes_of_gke_needs_host_ipc_and_no_memory_of_the_daemon(placed: Json, annotations: Json) -> None:
    messages = [one.message for one in verdict({**placed, "hostIPC": False}, annotations=annotations).findings]
    assert "hostIPC: true is missing, which MPS clients need in this cluster" in messages
    found = verdict({**placed, "hostUsers": True}, annotations=annotations)
    assert codes(found) == {"GPS002", "GPS008", "GPS020"}


MARKS: list[tuple[Json, Json]] = [
    ({"nodeSelector": {ACCELERATOR: "nvidia-l4"}}, {}),
    ({"nodeSelector": {"cloud.google.com/compute-class": "gpu-l4"}}, {}),
    ({"nodeSelector": {"disk": "ssd", "cloud.google.com/gke-nodepool": "gpus"}}, {}),
    (required({"matchExpressions": [IN_ZONE, ON_L4]}), {}),
    (required({"matchExpressions": [{"key": ACCELERATOR, "operator": "Exists"}]}, {"matchExpressions": [ON_L4]}), {}),
]
NO_MARKS: list[Json] = [
    {},
    {"nodeSelector": {"cloud.google.com/machine-family": "g2"}},
    required({"matchExpressions": [ON_L4]}, {"matchExpressions": [IN_ZONE]}),
    required({"matchExpressions": [{**ON_L4, "operator": "NotIn"}]}),
    required({"matchExpressions": [{"key": ACCELERATOR, "operator": "DoesNotExist"}]}),
]
ELSEWHERE = {"containers": [asking(1, env=[{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/tmp/nvidia-mps"}])]}  # noqa: S108


@pytest.mark.parametrize(("placed", "annotations"), MARKS)
def test_pipe_directory_of_gke_is_right_on_gke_alone(placed: Json, annotations: Json) -> None:
    assert codes(verdict({**ELSEWHERE, **placed}, annotations=annotations)) == set()
    assert "GPS004" in codes(verdict({**ELSEWHERE, **placed}, annotations=annotations, described=True))


@pytest.mark.parametrize("key", ["networking.gke.io/default-interface", "gke-gcsfuse/volumes"])
def test_annotation_of_gke_makes_other_pipe_directory_a_warning(key: str) -> None:
    found = verdict(ELSEWHERE, annotations={key: "true"})
    assert [(one.code, one.severity.label) for one in found.findings] == [("GPS004", "warn")]
    assert found.findings[0].remedy.endswith("; on GKE, use the profile gke")


@pytest.mark.parametrize("placed", NO_MARKS)
def test_pipe_directory_of_gke_is_wrong_where_other_nodes_may_take_the_pod(placed: Json) -> None:
    assert "GPS004" in codes(verdict({**ELSEWHERE, **placed}))
