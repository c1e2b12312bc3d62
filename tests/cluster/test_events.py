"""Events on the controllers of denied pods: the right that they need, what kubectl shows, and how many there are."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import DRY_POD, MUTATING, hooks, is_mutated
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.rights import ACCOUNT, create_account
from tests.cluster.harness.waiting import wait_for
from webhook.cluster.events import BURST, DENIED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object

SETTINGS = {
    "events": {"enabled": True},
    "injections": {"runtimeClass": {"enabled": False}},  # the class is not there
    "messageSuffix": "Ask #gpu-help.",
}
EVENTS = "/api/v1/namespaces/default/events"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROLE = "webhook-events"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
STORM = 100


@dataclass(frozen=True, slots=True)
class Started:
    """A control plane with the mutating hook of a webhook that writes Events."""

    running: ControlPlaneOnly
    server: Reviewer

    def events(self) -> list[Object]:
        """The Events of the webhook."""
        return [event for event in self.running.api.items(EVENTS) if event["reason"] == DENIED]

    def replica_set(self, name: str) -> Object:
        """The ReplicaSet of a new Deployment whose pods are denied."""
        api = self.running.api
        api.create("/apis/apps/v1/namespaces/default/deployments", deployment(name, container(gpus=2)))

        def found() -> Object | None:
            owned = (one for one in api.items(REPLICA_SETS) if one["metadata"]["name"].startswith(f"{name}-"))
            return next(owned, None)

        made: Object = wait_for("the ReplicaSet", found)
        return made

    def denied(self, name: str, owner: Object) -> None:
        """Create a pod of a controller, which the webhook denies."""
        asked = pod(name, container(gpus=2))
        asked["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        with pytest.raises(ApiError, match=r"GPS001 .*\ngpushare-webhook explain GPS001\nAsk #gpu-help\."):
            self.running.api.create("/api/v1/namespaces/default/pods", asked)


def _reference(replica_set: Object) -> Object:
    names = {name: replica_set["metadata"][name] for name in ("name", "uid")}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", **names}


@pytest.fixture(scope="module")
def started(needs_control_plane: None) -> Iterator[Started]:
    """Until a test grants it, the webhook has no right to create Events."""
    with control_plane(place=Loopback) as running:
        kubeconfig = create_account(running)
        api, group = running.api, "rbac.authorization.k8s.io"
        api.create(ROLES, {"metadata": {"name": ROLE}, "rules": []})
        binding = {
            "metadata": {"name": ROLE},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": ROLE},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}],
        }
        api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        with (
            reviewer(running, SETTINGS, kubeconfig) as server,
            hooks(running, server.webhook.client_config, _in_force(running), which=(MUTATING,)),
        ):
            yield Started(running, server)


def _in_force(running: ControlPlaneOnly) -> Callable[[], bool]:
    return lambda: is_mutated(running.api.create(DRY_POD, pod("one")))


def test_missing_verb_is_named_once_and_granted_without_restart(started: Started) -> None:
    api = started.running.api
    first, second = _reference(started.replica_set("first")), _reference(started.replica_set("second"))
    wait_for("two refused Events", lambda: _metric(started, "failed") >= 2)
    rule = '{apiGroups: [""], resources: [events], verbs: [create]}'
    refused = "not allowed to create events"
    wait_for("the log", lambda: [entry for entry in started.server.log() if refused in str(entry)])  # after the count
    (named,) = [entry for entry in started.server.log() if refused in str(entry)]
    assert rule in str(named)
    assert started.events() == []
    granted = {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}
    api.patch(f"{ROLES}/{ROLE}", {"rules": [granted]})

    def written() -> bool:
        # Each try is about another controller, of which no Event was due before.
        started.denied("tried", {**first, "uid": f"{second['uid'][:-6]}{time.monotonic_ns() % 10**6:06}"})
        return bool(started.events())

    wait_for("an Event after the grant", written)
    wait_for("the log", lambda: [one for one in started.server.log() if one["event"] == "Events are written again"])


def test_kubectl_describes_denial_of_deployment(started: Started) -> None:
    replica_set = started.replica_set("shown")
    name = replica_set["metadata"]["name"]
    describe = ("describe", "replicaset", name)
    wait_for("the Event", lambda: DENIED in started.running.kubectl(*describe))
    (shown,) = [line for line in started.running.kubectl(*describe).splitlines() if DENIED in line]
    kind, reason, age, origin, *words = shown.split()
    assert (kind, reason, origin) == ("Warning", DENIED, "gpushare-webhook")
    assert age[-1] in "sm"
    assert " ".join(words).startswith('GPS001 container "main" asks for 2 of "nvidia.com/gpu"; ')


def test_storm_of_denied_pods_writes_few_events(
    started: Started, record_property: Callable[[str, object], None]
) -> None:
    """One for a controller, and a burst and one per second for many controllers."""
    owner = _reference(started.replica_set("storm"))
    wait_for("its own Event", lambda: _about(started, owner["uid"]))
    before, began = len(started.events()), time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: started.denied(f"same-{number}", owner), range(STORM)))
        others = [{**owner, "uid": f"{owner['uid'][:-4]}{number:04}"} for number in range(STORM)]
        list(threads.map(lambda number: started.denied(f"other-{number}", others[number]), range(STORM)))
    wait_for("what waits to be written or dropped", lambda: _metric(started, "written") >= before + BURST, seconds=60)
    written, seconds = len(started.events()) - before, time.monotonic() - began
    record_property("events", f"{written} of {2 * STORM} denied pods in {seconds:.1f} s")
    assert len(_about(started, owner["uid"])) == 1
    assert BURST // 2 <= written <= BURST + seconds + 2


def _about(started: Started, uid: str) -> list[Object]:
    return [event for event in started.events() if event["involvedObject"]["uid"] == uid]


def _metric(started: Started, result: str) -> float:
    _, text = started.server.health("/metrics")
    sample = f'gpushare_webhook_pod_events_total{{result="{result}"}} '
    (value,) = [line.removeprefix(sample) for line in text.splitlines() if line.startswith(sample)]
    return float(value)
