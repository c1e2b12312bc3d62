"""Large pods that name a GPU: the API server decides about them within its limit of cost, without long loops."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chart.matching import request
from tests.chart.policies import Compared, Group, compared
from tests.chart.test_injection_equality import changed_by_policies
from webhook.inprocess.mutating import mutating
from webhook.policy.evaluate import Evaluator
from webhook.policy.pods.pod import PIPE_DIRECTORY
from webhook.settings.configuration import view
from webhook.settings.load import load

Object = dict[str, Any]

GPU = "nvidia.com/gpu"
PIPE = "/mps/nvidia.com/gpu/pipe"
FILE = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings"}
SETTINGS = {"limits": {"perPod": 100_000}, "severities": {"GPS009": "deny", "GPS015": "deny"}}
UNREAD = "cannot be checked"


def _container(name: str = "c", names: int = 0, **fields: Any) -> Object:
    limits = {GPU: "1"} | {f"example.com/{number}": "1" for number in range(names)}
    return {"name": name, "image": "i", "resources": {"limits": limits, "requests": dict(limits)}, **fields}


def _pod(*containers: Object, **spec: Any) -> Object:
    metadata = {"name": "p", "namespace": "team"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [*containers], **spec}}


def _variables(count: int) -> list[Object]:
    return [{"name": f"V{number}", "value": "x"} for number in range(count)]


def _pipes(count: int, path: str = PIPE) -> list[Object]:
    return [{"name": PIPE_DIRECTORY, "value": path}] * count


def _mounted(count: int, volume: str) -> list[Object]:
    """Containers that mount a volume as the pipe directory."""
    mount = {"name": volume, "mountPath": PIPE}
    return [_container(f"c{number}", volumeMounts=[mount]) for number in range(count)]


def _volumes(count: int, *, own: int = 1) -> list[Object]:
    """Volumes, of which the last hold the directory of the daemon."""
    empty = [{"name": f"v{number}", "emptyDir": {}} for number in range(count - own)]
    host = {"path": f"/run/nvidia{PIPE}"}
    return empty + [{"name": f"v{number}", "hostPath": host} for number in range(count - own, count)]


def _thousand(names: int = 0, **fields: Any) -> Object:
    """Containers with these fields, in a pod of up to 3 MiB, which the API server reads."""
    return _pod(*(_container(f"c{number}", names, **fields) for number in range(1_000)), volumes=_volumes(1, own=0))


def _unclean(count: int, characters: int) -> list[Object]:
    """Mounts at paths that need the most steps to clean."""
    return [{"name": "v0", "mountPath": "/" * (characters - 1) + str(number)} for number in range(count)]


def _equal_volumes(count: int) -> list[Object]:
    return [{"name": f"v{number % 50}", "emptyDir": {}} for number in range(count)]


def _rollout(volumes: list[Object], pod: Object | None = None) -> Object:
    """A custom object, in which the API server accepts volumes of equal names, with a mount of the first volume."""
    pod = pod or _pod(*_mounted(1, "v0"), volumes=volumes)
    metadata = {"name": "r", "namespace": "team"}
    template = {"template": {"spec": pod["spec"]}}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": metadata, "spec": template}


def _ray_cluster(pod: Object) -> Object:
    """A custom object with two such pods."""
    template = {"template": {"spec": pod["spec"]}}
    metadata = {"name": "r", "namespace": "team"}
    spec = {"headGroupSpec": template, "workerGroupSpecs": [template]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def _long_volumes(count: int) -> list[Object]:
    """Volumes of the daemon's directory with the longest names."""
    host = {"path": f"/run/nvidia{PIPE}"}
    return [{"name": f"{number:063}", "hostPath": host} for number in range(count)]


def _without_gpus(pod: Object, **spec: Any) -> Object:
    containers = json.loads(json.dumps(pod["spec"]["containers"]))
    for one in containers:
        for amounts in one["resources"].values():
            del amounts[GPU]
    return _pod(*containers, **spec)


READ = {
    "1,000 variables": _pod(_container(env=_variables(1_000))),
    "1,000 pipe variables": _pod(_container(env=_pipes(1_000))),
    "1,000 wrong pipe variables": _pod(_container(env=_pipes(1_000, "/x"))),
    "130 mounts and 901 volumes": _pod(*_mounted(130, "v900"), volumes=_volumes(901)),
    "130 mounts of a wrong volume and 901 volumes": _pod(*_mounted(130, "v5"), volumes=_volumes(901)),
    "1,000 volumes of 50 names in a custom object": _rollout(_equal_volumes(1_000)),
    "1,000 volumes of 50 names, the first that of the daemon": _rollout(_volumes(1) + _equal_volumes(999)),
    "20,000 names without a GPU": _without_gpus(_thousand(names=10)),
    "20,000 names without a GPU in a custom object": _rollout([], _without_gpus(_thousand(names=10))),
    "20,000 names without a GPU and a host namespace": _without_gpus(_thousand(names=10), hostPID=True),
    "20,000 names without a GPU, and one of the pod": _without_gpus(
        _thousand(names=10), resources={"limits": {GPU: "1"}}
    ),
    "20,000 names without a GPU, and one of the pod, in a custom object": _rollout(
        [], _without_gpus(_thousand(names=10), resources={"limits": {GPU: "1"}})
    ),
    "2,000 volumes of long names in a custom object": _ray_cluster(
        _pod(*_mounted(1, f"{999:063}"), volumes=_long_volumes(1_000))
    ),
    "1,000 mounts and 1,000 volumes of daemons": _pod(*_mounted(1_000, "v7"), volumes=_volumes(1_000, own=1_000)),
}
LARGE = {
    "60,000 variables": _pod(_container(env=_variables(60_000))),
    "20,000 pipe variables": _pod(_container(env=_pipes(20_000))),
    "20,000 mounts": _pod(_container(volumeMounts=[{"name": "v0", "mountPath": PIPE}] * 20_000), volumes=_volumes(1)),
    "1,000 containers with 100 resources": _pod(*(_container(f"c{number}", names=100) for number in range(1_000))),
    "1,000 containers with 235 variables": _thousand(env=[{"name": "V"}] * 235),
    "1,000 containers with 101 mounts": _thousand(volumeMounts=[{"name": "v", "mountPath": "/a"}] * 101),
}


@pytest.fixture(scope="module")
def found() -> dict[str, list[Compared]]:
    """The comparisons of each pod."""
    configuration = load(FILE | SETTINGS, lambda _path: (1, 1), "settings")
    pods = READ | LARGE
    group = Group(configuration, Evaluator.of(configuration.settings), [request(pod) for pod in pods.values()])
    made = compared([group])
    assert len(made) == len(pods) * len(group.policies)
    by_pod = zip(*[iter(made)] * len(group.policies), strict=True)
    return {name: list(held) for name, held in zip(pods, by_pod, strict=True)}


@pytest.mark.parametrize("name", READ)
def test_pod_within_limits_is_decided_as_by_webhook(found: dict[str, list[Compared]], name: str) -> None:
    assert {one.policy.code: one.got for one in found[name]} == {one.policy.code: one.wanted for one in found[name]}


@pytest.mark.parametrize("name", LARGE)
def test_pod_beyond_limits_is_denied_unread(found: dict[str, list[Compared]], name: str) -> None:
    said = {one.policy.code: one.got for one in found[name]}
    assert any(UNREAD in text for text in said.values())
    assert {code: text for code, text in said.items() if text and UNREAD not in text} == {}


def test_time_grows_no_faster_than_lists(found: dict[str, list[Compared]]) -> None:
    """The API server's time to track costs grows with the square of a loop's length: nothing loops over long lists."""
    took = {name: sum(one.seconds for one in found[name]) for name in ("1,000 variables", "60,000 variables")}
    assert took["60,000 variables"] <= 60 * took["1,000 variables"], took


CHANGED = {
    "10,000 names": _thousand(names=4),
    "10,000 variables": _thousand(env=_variables(10)),
    "2,000 mounts": _thousand(volumeMounts=_unclean(2, len(PIPE) + 10)),
    "2,000 mounts at long paths": _thousand(volumeMounts=_unclean(2, 1_400)),
}
KEPT = {
    "12,000 names": _thousand(names=5),
    "11,000 variables": _thousand(env=_variables(11)),
    "3,000 mounts": _thousand(volumeMounts=_unclean(3, 10)),
    "235,000 variables": _thousand(env=[{"name": "V"}] * 235),
    "100,000 mounts": _thousand(volumeMounts=[{"name": "v0", "mountPath": "/a"}] * 100),
}


def test_injections_stop_at_sum_of_lists() -> None:
    """Longer lists exceed the budget of an expression, and take a second."""
    asked = {name: request(pod) for name, pod in (CHANGED | KEPT).items()}
    configuration = load(FILE, lambda _path: (1, 1), "settings")
    made, _ = mutating(configuration.settings, view(configuration))
    policies = [made[0].objects("gpu")[0]]
    group: Object = {"policies": policies, "params": None, "labels": {}, "requests": [*asked.values()]}
    (answers,) = changed_by_policies([group])
    changed = [name for name, one in zip(asked, answers, strict=True) if one["object"] != one["changed"]]
    assert changed == list(CHANGED)
