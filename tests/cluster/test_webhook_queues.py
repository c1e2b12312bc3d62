"""Jobs of a queue: the queue suspends them and chooses nodes later, so they are created with a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.hooks import MUTATING
from tests.cluster.harness.manifests import STRATEGY, container, job, labelled
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.standin import Answer, allow, stand_in
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import webhook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

QUEUE = "kueue.x-k8s.io/queue-name"
WHOLE = {STRATEGY: "none", "nvidia.com/mps.capable": "false"}


def _suspend(review: Object) -> Answer:
    """Suspend a Job, as the webhook of Kueue does."""
    return allow(review, {"op": "add", "path": "/spec/suspend", "value": True})


@pytest.fixture(scope="module", autouse=True)
def _installed(cluster: Cluster) -> Iterator[None]:
    """The webhook, and a stand-in for Kueue's mutating webhook: it suspends new Jobs that name a queue."""
    with webhook(cluster), stand_in(cluster.place, _suspend) as queue:
        entry = {
            "name": "jobs.queue.example.test",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": queue.client_config(),
            "objectSelector": {"matchExpressions": [{"key": QUEUE, "operator": "Exists"}]},
            "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}],
        }
        with cluster.api.created(MUTATING, {"metadata": {"name": "queue"}, "webhooks": [entry]}):
            wait_for("the queue to be called", lambda: _is_suspended(cluster))
            yield
        wait_for("the queue to be forgotten", lambda: not _is_suspended(cluster))


def _is_suspended(cluster: Cluster) -> bool:
    """Whether the API server suspends a new Job that names a queue."""
    made = cluster.api.create("/apis/batch/v1/namespaces/default/jobs?dryRun=All", _job(container(gpus=0)))
    return bool(made["spec"].get("suspend"))


def _job(asks: Object) -> Object:
    return labelled(job("main", asks), **{QUEUE: "team-a"})


def _created_with_warning(space: Workspace) -> str:
    """The path of a stored, suspended Job whose pods ask for two replicas."""
    done = space.run("create", "-f", "-", manifest=_job(container(gpus=2)))
    assert done.returncode == 0, done.stderr
    assert (
        'Warning: GPS001 container "main" asks for 2 of "nvidia.com/gpu"; '
        "nodes chosen later must not be shared through MPS"
    ) in done.stderr
    path = f"/apis/batch/v1/namespaces/{space.name}/jobs/main"
    space.api.wait_for(path, "to be reported as suspended", lambda job: "Suspended" in str(job["status"]))
    assert space.api.items(space.pods) == []
    return path


def _rejections(space: Workspace) -> list[str]:
    path = f"/api/v1/namespaces/{space.name}/events?fieldSelector=involvedObject.name=main,reason=FailedCreate"
    return [event["message"] for event in space.api.items(path)]


def test_resumed_job_creates_no_pod_over_limit(space: Workspace) -> None:
    path = _created_with_warning(space)
    space.api.patch(path, {"spec": {"suspend": False}})
    (message, *_) = wait_for("the rejection of a pod", lambda: _rejections(space))
    assert 'denied the request: GPS001 container "main" asks for 2 of "nvidia.com/gpu"; the limit is 1' in message
    # The controller retries with a growing delay, and the device plugin never sees a pod.
    assert space.api.items(space.pods) == []
    assert "failed" not in space.api.get(path)["status"]


def test_job_resumed_on_whole_card_node_is_bound_there(space: Workspace) -> None:
    path = _created_with_warning(space)
    with node_object(space.cluster, "whole-1", WHOLE, gpus=4) as whole:
        # Kueue puts the node labels of the chosen flavor into the template when it resumes a Job.
        chosen = {"suspend": False, "template": {"spec": {"nodeSelector": {STRATEGY: "none"}}}}
        space.api.patch(path, {"spec": chosen})
        (made,) = wait_for("a pod", lambda: space.api.items(space.pods))
        bound = space.wait_bound(made["metadata"]["name"])
        assert bound["spec"]["nodeName"] == whole
        assert _rejections(space) == []
        space.kubectl("delete", "job", "main", "--cascade=orphan")
