"""One workload of each kind that creates pods, with the same pod template, and what its pods are expected to become."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.harness.manifests import GPU, labelled, pod_spec
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.workspace import Workspace

_LABELS = {"app": "main"}
_SELECTOR = {"matchLabels": _LABELS}
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ReplicationController": "v1",
}

REFUSAL = (
    "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = "
    'invalid allocation request for "nvidia.com/gpu": '
    "invalid request: maximum request size for shared resources is 1; found 2, which is unexpected"
)
"""The kubelet's message in the status of a pod that asks for two replicas where the device plugin accepts one."""


def workload(kind: str, *containers: Object) -> Object:
    """A workload called `main` of one pod, whose containers are those of `pod`; also a Pod or a PodTemplate."""
    return holding(kind, pod_spec(*containers))


def holding(kind: str, spec: Object, name: str = "main") -> Object:
    """A workload of one pod with this spec; also a Pod or a PodTemplate."""
    head = {"apiVersion": KINDS.get(kind, "v1"), "kind": kind, "metadata": {"name": name}}
    if kind == "Pod":
        return labelled({**head, "spec": spec}, **_LABELS)
    template = {"metadata": {"labels": _LABELS}, "spec": spec}
    if kind == "PodTemplate":
        return {**head, "template": template}
    return {**head, "spec": _spec(kind, template)}


def _spec(kind: str, template: Object) -> Object:
    if kind == "Job":
        return {"template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}}
    if kind == "CronJob":
        return {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": _spec("Job", template)}}
    if kind == "ReplicationController":
        return {"selector": _LABELS, "template": template}
    return {"selector": _SELECTOR, "template": template} | ({"serviceName": "main"} if kind == "StatefulSet" else {})


def make_due(space: Workspace) -> None:
    """Set the last run of the yearly CronJob `main` to long ago, so that its controller runs it immediately."""
    path = f"/apis/batch/v1/namespaces/{space.name}/cronjobs/main/status"
    before = (datetime.now(UTC) - timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:%SZ")
    space.api.patch(path, {"status": {"lastScheduleTime": before}})


def pod_of_workload(space: Workspace) -> Object:
    """The running pod of a workload of this module."""
    (made,) = wait_for("a pod", lambda: space.api.items(f"{space.pods}?labelSelector=app=main"))
    return space.wait_running(made["metadata"]["name"])


def assert_completed(stored: Object, *names: str, resource: str = GPU) -> None:
    """Assert that the pod's GPU containers `names` have each edit once, and its other containers none."""
    volume, path = "gpushare-mps-" + resource.replace("/", "-").replace(".", "-"), f"/mps/{resource}/pipe"
    spec, metadata = stored["spec"], stored["metadata"]
    assert spec["runtimeClassName"] == "nvidia"
    for one in [*spec.get("initContainers", ()), *spec["containers"]]:
        due = one["name"] in (names or ("main",))
        variables = [entry for entry in one.get("env", ()) if entry["name"].startswith("CUDA_MPS")]
        mounts = [mount for mount in one.get("volumeMounts", ()) if not mount["name"].startswith("kube-api-access")]
        assert variables == ([{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": path}] if due else [])
        assert mounts == ([{"name": volume, "mountPath": path}] if due else [])
    source = {"path": f"/run/nvidia/mps/{resource}/pipe", "type": "DirectoryOrCreate"}
    volumes = [one for one in spec["volumes"] if not one["name"].startswith("kube-api-access")]
    assert volumes == [{"name": volume, "hostPath": source}]
    assert metadata["annotations"][_SAFE_TO_EVICT] == volume
    for key in {GPU, resource}:
        assert spec["tolerations"].count({"key": key, "operator": "Exists", "effect": "NoSchedule"}) == 1
