"""The match conditions of the chart send exactly the objects that the webhook checks, on a real API server."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import DRY_POD, hooks
from tests.cluster.harness.manifests import GPU, container, labelled, pod, pod_spec
from tests.cluster.harness.standin import StandIn, allow, stand_in
from tests.cluster.workloads import KINDS, holding
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings
from webhook.policy.workloads.kinds import group_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

SHARED, MIG = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
EVALUATOR = OfflineEvaluator.of(Settings())
HOLDERS = ["Pod", "PodTemplate", *KINDS]
ENTRIES = {"PodTemplate": "pod-templates", "CronJob": "job-templates"}
WORKLOADS = HOLDERS[1:]
OTHERS = {f"/validate other-{usual}" for usual in ("pods", "templates", *ENTRIES.values())}
"""The entries that admit when the webhook is down: for objects that concern GPUs and name none."""


class Recorder:
    """A stand-in for each entry of the configurations that records the entries that a request was sent to."""

    def __init__(self, running: ControlPlaneOnly) -> None:
        self.api = running.api
        self.entries: dict[str, StandIn] = {}

    def called(self, method: str, path: str, body: Json | list[Any], content: str = "json") -> tuple[set[str], bool]:
        """Send a request; returns the entries that were called, and whether the API server accepted it."""
        before = {name: len(entry.reviews) for name, entry in self.entries.items()}
        try:
            self.api.call(method, path, body, content=content)
            accepted = True
        except ApiError:
            accepted = False
        return {name for name, entry in self.entries.items() if len(entry.reviews) > before[name]}, accepted

    def patched(self, path: str, body: Json) -> set[str]:
        """The entries that were called for a merge patch that the API server accepts."""
        called, accepted = self.called("PATCH", path, body, "merge-patch+json")
        assert accepted
        return called


@pytest.fixture(scope="module")
def recorder(needs_control_plane: None) -> Iterator[Recorder]:
    with control_plane() as running, ExitStack() as stack:
        made = Recorder(running)
        # Controllers would send requests of their own between those that are counted.
        running.control.processes["controller-manager"].stop()

        def record(entry: Json) -> Json:
            short = entry["name"].partition(".")[0]
            answering = stack.enter_context(stand_in(running.place, allow))
            made.entries[f"{entry['clientConfig']['service']['path']} {short}"] = answering
            return answering.client_config()

        def in_force() -> bool:
            return made.called("POST", DRY_POD, pod("asks")) == ({"/mutate pods", "/validate pods"}, True)

        stack.enter_context(hooks(running, record, in_force))
        yield made


def collection(kind: str) -> str:
    version = KINDS.get(kind, "v1")
    return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/default/{kind.lower()}s"


def holder(kind: str, spec: Json, name: str = "main") -> Json:
    """An object of a kind that holds a pod of this spec. A Job is suspended: it allows a change of its template."""
    manifest = holding(kind, spec, name)
    return {**manifest, "spec": {"suspend": True, **manifest["spec"]}} if kind == "Job" else manifest


def names_a_gpu(manifest: Json) -> bool:
    """Whether the evaluator finds a GPU resource named."""
    pods = EVALUATOR.pods(manifest, group_of(manifest["apiVersion"]), manifest["kind"])
    requests = [EVALUATOR.context(extracted, RequestContext("default")).requests for extracted in pods]
    return any(one.named or one.of_pod for one in requests)


def assert_sent(called: set[str], kind: str, manifest: Json, *, named: bool, accepted: bool) -> None:
    """A new object is sent exactly where it names a GPU, and to the other entries at least with a finding."""
    assert called - OTHERS == wanted(kind, named=named, accepted=accepted), json.dumps(manifest)
    if called & OTHERS:
        assert not named, json.dumps(manifest)
    elif accepted and not named:
        found = EVALUATOR.evaluate(manifest, group_of(manifest["apiVersion"]), kind, RequestContext("default")).findings
        assert not found, json.dumps(manifest)


def wanted(kind: str, *, named: bool, accepted: bool) -> set[str]:
    """The entries for a new object that names a GPU; the validating ones are called after the API server's checks."""
    usual = "pods" if kind == "Pod" else "templates"
    mutating = {"/mutate pods"} if kind == "Pod" else set()
    validating = {f"/validate {ENTRIES.get(kind, usual)}"} if accepted else set()
    return mutating | validating if named else set()


NAMES = [GPU, SHARED, MIG, "nvidia.com/gpus", "nvidia.com/gpu.shared.x", "nvidia.com/migs", "amd.com/gpu", "x.io/gpu"]


@st.composite
def resources(draw: st.DrawFn) -> Json:
    """Limits and requests, mostly as the API server takes them: an extended resource has both, or its limit alone."""
    amounts = {draw(st.sampled_from(NAMES)): draw(st.sampled_from([0, "0", 1, "1", "2"]))}
    return draw(
        st.sampled_from(
            [
                {"limits": amounts},
                {"limits": amounts, "requests": amounts},
                {"limits": {"memory": "1Gi", **amounts}, "requests": {"cpu": "1m"}},
                {"limits": None, "requests": amounts},
                {"limits": {}, "requests": {"cpu": "1m"}},
            ]
        )
    )


@st.composite
def specs(draw: st.DrawFn) -> Json:
    """The spec of a pod with containers and init containers, which may be sidecars."""
    held = st.one_of(resources(), resources(), st.sampled_from([None, {}]))
    apps, inits = draw(st.lists(held, min_size=1, max_size=3)), draw(st.lists(held, max_size=2))
    restarts = draw(st.sampled_from([{}, {"restartPolicy": "Always"}]))
    spec = pod_spec(*(_container(f"c{index}", one) for index, one in enumerate(apps)))
    listed = [{**_container(f"i{index}", one), **restarts} for index, one in enumerate(inits)]
    return spec | {"initContainers": listed or draw(st.sampled_from([None, []]))}


def _container(name: str, held: Json | None) -> Json:
    return {**container(name, gpus=0), "resources": held}


@pytest.mark.parametrize("kind", HOLDERS)
def test_new_objects_are_sent_exactly_when_they_name_a_gpu(recorder: Recorder, kind: str) -> None:
    seen: Counter[tuple[bool, bool]] = Counter()

    @settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(specs())
    def sent_as_expected(spec: Json) -> None:
        manifest = holder(kind, spec)
        called, accepted = recorder.called("POST", f"{collection(kind)}?dryRun=All", manifest)
        named = names_a_gpu(manifest)
        assert_sent(called, kind, manifest, named=named, accepted=accepted)
        seen[named, accepted] += 1

    sent_as_expected()
    assert seen[True, True] >= 3, seen
    assert seen[False, True] >= 3, seen


@pytest.mark.parametrize("kind", WORKLOADS)
def test_workload_update_is_sent_only_when_its_template_changes(recorder: Recorder, kind: str) -> None:
    name = f"again-{kind.lower()}"
    path = f"{collection(kind)}/{name}"
    recorder.api.create(collection(kind), holder(kind, pod_spec(), name))
    labels = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["x.io/hold"]}}
    assert recorder.patched(path, labels) == set()
    if kind in ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"):
        assert recorder.patched(path, {"spec": {"replicas": 3}}) == set()
        assert recorder.patched(f"{path}/scale", {"spec": {"replicas": 2}}) == set()
    if kind != "PodTemplate":
        assert recorder.patched(f"{path}/status", {"metadata": {"annotations": {"e": "f"}}}) == set()
    # The only change of a template that every kind allows, Jobs while they are suspended.
    template: Json = {"template": {"metadata": {"annotations": {"g": "h"}}}}
    change = {"PodTemplate": template, "CronJob": {"spec": {"jobTemplate": {"spec": template}}}}
    assert recorder.patched(path, change.get(kind, {"spec": template})) == wanted(kind, named=True, accepted=True)
    assert recorder.patched(path, {"metadata": {"finalizers": None}}) == set()
    recorder.api.delete(f"{path}?propagationPolicy=Foreground")


OURS = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def test_other_pod_updates_are_not_sent(recorder: Recorder) -> None:
    recorder.api.create(collection("Pod"), labelled(pod("updated", tolerations=[OURS]), a="b"))
    path = f"{collection('Pod')}/updated"
    assert recorder.patched(path, {"metadata": {"labels": {"a": "c"}, "finalizers": ["x.io/hold"]}}) == set()
    assert recorder.patched(f"{path}/status", {"status": {"message": "x"}}) == set()
    more = [*recorder.api.get(path)["spec"]["tolerations"], {"key": "another", "operator": "Exists"}]
    assert recorder.patched(path, {"spec": {"tolerations": more}}) == set()
    assert recorder.patched(path, {"metadata": {"finalizers": None}}) == set()
    recorder.api.delete(path)
