"""What a pod asks for, counted as the scheduler does: against a simulation of the pod's life."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.pods.pod import Pod
from webhook.policy.pods.quantity import NANO
from webhook.policy.pods.requests import GpuRequests
from webhook.policy.settings.settings import Settings

GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-1g.5gb"

Json = dict[str, Any]

resource = OfflineEvaluator.of(Settings()).snapshot.of("default").resource

amounts = st.dictionaries(st.sampled_from([GPU, MIG, "cpu"]), st.integers(0, 5), max_size=2)
containers = st.builds(lambda limits: {"name": "c", "resources": {"limits": limits}}, amounts)
init_containers = st.builds(
    lambda container, policy: {**container, "restartPolicy": policy},
    containers,
    st.sampled_from([None, "Always", "Always", "OnFailure"]),
)


def highest_use(pod: Json, name: str) -> int:
    """The most of a resource that is in use at any time of the pod's life."""

    def wants(container: Json) -> int:
        return int(container["resources"]["limits"].get(name, 0))

    timeline = [0]
    running: list[Json] = []
    for container in pod["spec"]["initContainers"]:
        timeline.append(sum(map(wants, [*running, container])))
        if container["restartPolicy"] == "Always":
            running.append(container)
    timeline.append(sum(map(wants, [*running, *pod["spec"]["containers"]])))
    return max(timeline)


@given(st.lists(init_containers, max_size=4), st.lists(containers, max_size=3))
def test_peak_request_equals_simulation(before: list[Json], apps: list[Json]) -> None:
    pod = {"spec": {"initContainers": before, "containers": apps}}
    requests = GpuRequests(Pod.of_template(pod), resource)
    for name in (GPU, MIG):
        assert requests.peaks.get(name, 0) == highest_use(pod, name) * NANO


@given(st.lists(init_containers, max_size=3), st.lists(containers, max_size=3))
def test_requests_have_paths(before: list[Json], apps: list[Json]) -> None:
    pod = {"spec": {"initContainers": before, "containers": apps}}
    requests = GpuRequests(Pod.of_template(pod), resource)
    expected = [
        (("spec", field, index, "resources", "limits", name), amount * NANO)
        for field in ("initContainers", "containers")
        for index, container in enumerate(pod["spec"][field])
        for name, amount in container["resources"]["limits"].items()
        if name != "cpu" and amount
    ]
    assert [(ask.path, ask.billionths) for ask in requests.positive] == expected


def test_request_without_limit_counts() -> None:
    pod = {
        "spec": {
            "containers": [
                {"name": "a", "resources": {"requests": {GPU: 1, "cpu": 1}}},
                {"name": "b", "resources": {"limits": {GPU: 2}, "requests": {GPU: 2, MIG: 3}}},
                {"name": "c", "resources": {"requests": {"gpu": 1, "cpu": 1}}},
            ]
        }
    }
    requests = GpuRequests(Pod.of_template(pod), resource)
    assert [(ask.container.name, ask.field, ask.resource.name) for ask in requests.positive] == [
        ("a", "requests", GPU),
        ("b", "limits", GPU),
        ("b", "requests", MIG),
    ]
    assert requests.peaks[GPU] == 3 * NANO
