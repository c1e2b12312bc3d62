"""GPS005 knows pods of GKE by their node selectors, on a command line that knows nothing else of the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings

Json = dict[str, Any]

ACCELERATOR = "cloud.google.com/gke-accelerator"
ON_L4 = {"key": ACCELERATOR, "operator": "In", "values": ["nvidia-l4"]}
IN_ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}


def required(*terms: Json) -> Json:
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": node}}


def codes(placed: Json, *, trusts: bool) -> set[str]:
    container = {
        "name": "c",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - a path in the container
    }
    spec = {"containers": [container], "volumes": [{"name": "shm", "emptyDir": {}}], **placed}
    evaluator = OfflineEvaluator.of(Settings())
    evaluator = evaluator.trusting_markers() if trusts else evaluator
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    return {one.code for one in evaluator.evaluate(pod, "", "Pod", RequestContext("default")).findings}


GKE = [
    {"nodeSelector": {ACCELERATOR: "nvidia-l4"}},
    {"nodeSelector": {"disk": "ssd", "cloud.google.com/gke-nodepool": "gpus"}},
    required({"matchExpressions": [IN_ZONE, ON_L4]}),
    required({"matchExpressions": [{"key": ACCELERATOR, "operator": "Exists"}]}, {"matchExpressions": [ON_L4]}),
]


@pytest.mark.parametrize("placed", GKE)
def test_mount_of_pod_that_requires_gke_is_right_where_nothing_describes_the_cluster(placed: Json) -> None:
    assert codes(placed, trusts=True) == set()
    assert codes(placed, trusts=False) == {"GPS005"}


@pytest.mark.parametrize(
    "placed",
    [
        {},
        {"nodeSelector": {"cloud.google.com/machine-family": "g2"}},
        required({"matchExpressions": [ON_L4]}, {"matchExpressions": [IN_ZONE]}),
        required({"matchExpressions": [{**ON_L4, "operator": "NotIn"}]}),
        required({"matchExpressions": [{"key": ACCELERATOR, "operator": "DoesNotExist"}]}),
        required({"matchExpressions": [IN_ZONE]}),
    ],
)
def test_mount_of_pod_that_other_nodes_may_take_is_wrong(placed: Json) -> None:
    assert codes(placed, trusts=True) >= {"GPS005"}
