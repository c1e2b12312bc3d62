"""`plan` on a real cluster: a change is really made, and the cluster is then as the plan has predicted."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.generated_pods import OWN_CLASS, generated
from tests.cluster.harness.credentials import NODE
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.interpreters import at_hand
from tests.cluster.harness.manifests import CAPABLE, CLASSES, GPU, STRATEGY, container, deployment
from tests.cluster.harness.options import mps, offers, time_slicing, whole
from tests.cluster.harness.selection import parameters
from tests.cluster.harness.waiting import met, wait_for
from tests.cluster.mixed import PRODUCT, REPLICAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
INSTALLED, PLUGIN, TEAM = "installation", "plugin", "planned"
SETTINGS: Object = {
    "apiVersion": "gpushare-webhook/v1",
    "kind": "Settings",
    "limits": {"fromDevicePlugin": True},
    "facts": {"nodes": True, "runtimeClasses": True, "devicePlugin": {"configMaps": [f"default/{PLUGIN}"]}},
}
OBJECTS = 120
BEFORE = mps(10)


@dataclass(frozen=True, slots=True)
class Change:
    """A configuration of the device plugin, and what it shares as a person says it."""

    name: str
    config: dict[str, Any]
    strategy: str
    replicas: int
    is_suffixed: bool = True

    @property
    def labels(self) -> dict[str, str]:
        """The labels of GPU feature discovery, which does not run here."""
        return {
            STRATEGY: self.strategy,
            CAPABLE: str(self.strategy == "mps").lower(),
            REPLICAS: str(self.replicas),
            PRODUCT: "Tesla-T4" + "-SHARED" * self.is_suffixed,
            "nvidia.com/gpu.count": "1",
            "nvidia.com/gpu.memory": "15360",
        }


NOW = Change("now", BEFORE, "mps", 10)
CHANGES = (
    Change("fewer replicas", mps(4), "mps", 4),
    Change("time-slicing", time_slicing(4), "time-slicing", 4),
    Change("time-slicing that refuses", time_slicing(4, fail_requests=True), "time-slicing", 4),
    Change("whole cards", whole(), "none", 1, is_suffixed=False),
    Change("renamed", mps(10, rename=True), "mps", 10, is_suffixed=False),
)
_USUAL = (CHANGES[4],)

_SELECTORS: tuple[dict[str, str], ...] = (
    {},
    {},
    {STRATEGY: "mps"},
    {STRATEGY: "time-slicing"},
    {STRATEGY: "none"},
    {CAPABLE: "true"},
    {REPLICAS: "10"},
    {REPLICAS: "4"},
    {PRODUCT: "Tesla-T4-SHARED"},
)


def templates(random: Random) -> Iterator[Object]:
    """Deployments without pods whose verdicts depend on the node."""
    for number in range(OBJECTS):
        pod = generated(random, "template")
        spec = pod["spec"] | ({"nodeSelector": selector} if (selector := random.choice(_SELECTORS)) else {})
        made = deployment(f"d{number}", replicas=0)
        made["spec"]["template"]["spec"] = spec
        made["spec"]["template"]["metadata"]["annotations"] = pod["metadata"].get("annotations", {})
        yield made


@pytest.fixture(scope="module")
def planned(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with an installation, the configuration of its device plugin, and templates in a namespace."""
    api = cluster.api
    texts = {INSTALLED: {"settings.yaml": json.dumps(SETTINGS)}, PLUGIN: {"config": json.dumps(BEFORE)}}
    with ExitStack() as stack:
        for name, data in texts.items():
            stack.enter_context(api.created(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}))
        for name in (OWN_CLASS, "nvidia"):
            if api.find(f"{CLASSES}/{name}") is None:
                stack.enter_context(api.created(CLASSES, {"metadata": {"name": name}, "handler": "nvidia"}))
        path = stack.enter_context(namespace(cluster, TEAM))
        for one in templates(Random(32)):  # noqa: S311
            api.create(f"/apis/apps/v1{path.removeprefix('/api/v1')}/deployments", one)
        yield cluster


def asked(cluster: Cluster, command: str, *options: str, given: object = None) -> Object:
    """The report of a command, which runs in the network of the cluster and reads `given` from standard input."""
    interpreter = at_hand()
    variables = [f"{name}={value}" for name, value in interpreter.environment.items()]
    program = ["env", *variables, *interpreter.command, "-m", "webhook", command, "-o", "json", *options]
    where = ["--kubeconfig", str(cluster.control.kubeconfigs["admin"]), "--installed-as", f"default/{INSTALLED}"]
    ended = subprocess.run(
        cluster.place.command([*program, *where]),
        input="" if given is None else json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode in (0, 1), ended.stderr
    report: Object = json.loads(ended.stdout)
    assert report["leftOut"] == []
    return report


def verdicts(results: list[Object]) -> dict[str, tuple[str, frozenset[tuple[str, str, str]]]]:
    """The decision about each object, and its findings that people see."""
    return {
        one["object"]["name"]: (
            one["decision"],
            frozenset((each["code"], each["severity"], each["path"]) for each in one["findings"]),
        )
        for one in results
    }


@pytest.mark.parametrize("change", parameters(CHANGES, _USUAL, lambda change: change.name))
def test_predicted_verdicts_and_nodes_are_those_after_the_change(
    planned: Cluster, change: Change, record_property: Callable[[str, object], None]
) -> None:
    with planned.node.marked(NOW.labels):
        before = verdicts(asked(planned, "audit", "-n", TEAM)["results"])
        plan = asked(planned, "plan", "-n", TEAM, "--device-plugin-config", "-", given=change.config)
    predicted = before | verdicts(plan["verdicts"])
    with (
        planned.node.sharing(change.config),
        planned.node.marked(change.labels),
        planned.api.patched(f"{CONFIG_MAPS}/{PLUGIN}", {"data": {"config": json.dumps(change.config)}}),
    ):
        after = verdicts(asked(planned, "audit", "-n", TEAM)["results"])
    right = sum(predicted[name] == after[name] for name in after)
    changed = sum(before[name] != after[name] for name in after)
    record_property(change.name, f"{right} of {len(after)} predicted; {changed} changed")
    assert len(after) == OBJECTS
    assert changed >= 10
    assert right >= 0.99 * OBJECTS, [
        (name, predicted[name], after[name]) for name in after if predicted[name] != after[name]
    ]
    offered = {one["resource"]: str(one["after"]["total"]) for one in plan["nodes"] if one["after"]["total"]}
    assert offered == offers(change.config, 1)
    assert plan["restarts"] == [{"node": NODE, "held": 0}]


def test_raised_mode_denies_what_the_plan_says(planned: Cluster) -> None:
    lenient = {"data": {"settings.yaml": json.dumps({**SETTINGS, "mode": "warn"})}}
    with planned.node.marked(NOW.labels):
        strict = verdicts(asked(planned, "audit", "-n", TEAM)["results"])
        with planned.api.patched(f"{CONFIG_MAPS}/{INSTALLED}", lenient):
            before = verdicts(asked(planned, "audit", "-n", TEAM)["results"])
            plan = asked(planned, "plan", "-n", TEAM, "--enforce")
    assert before | verdicts(plan["verdicts"]) == strict
    newly = {one["object"]["name"] for one in plan["verdicts"] if one["change"] == "denied"}
    assert newly == {name for name, (decision, _) in strict.items() if decision == "denied"}
    assert (plan["worse"], len(newly) >= 10) == (True, True)


def test_pods_fit_as_the_plan_counts_them(planned: Cluster, space: Workspace) -> None:
    held = deployment("held", container(gpus=1), replicas=3)
    more = deployment("more", container(gpus=1), replicas=9)
    more["metadata"]["namespace"] = space.name
    path = f"/apis/apps/v1/namespaces/{space.name}/deployments"
    space.api.create(path, held)
    wait_for("three pods to be bound", lambda: _bound(space, "held") == 3)
    plan = asked(planned, "plan", "-A", "--fit", "-", given=more)
    (fit,) = plan["fits"]
    assert (fit["wanted"], fit["fitting"], fit["nodes"]) == (9, 7, [{"node": NODE, "count": 7}])
    space.api.create(path, more)
    wait_for("the scheduler to place all pods that fit", lambda: _refused(space, "more") == 2)
    assert _bound(space, "more") == fit["fitting"]
    smaller = asked(planned, "plan", "-A", "--device-plugin-config", "-", given=mps(4))
    (unfit,) = smaller["unfit"]
    assert (unfit["resource"], unfit["held"], unfit["total"], unfit["podCount"]) == (GPU, 10, 4, 10)
    assert smaller["restarts"] == [{"node": NODE, "held": 10}]
    for one in (held, more):
        space.api.delete(f"{path}/{one['metadata']['name']}")
    wait_for("the pods to be gone", lambda: not space.api.items(space.pods))


def _bound(space: Workspace, app: str) -> int:
    return sum(bool(one["spec"].get("nodeName")) for one in space.api.items(f"{space.pods}?labelSelector=app={app}"))


def _refused(space: Workspace, app: str) -> int:
    """How many pods the scheduler finds no node for."""
    found = space.api.items(f"{space.pods}?labelSelector=app={app}")
    waiting = [one for one in found if not one["spec"].get("nodeName")]
    tried = [one for one in waiting if one.get("status", {}).get("conditions") and not met(one, "PodScheduled")]
    return len(tried) if len(found) == 9 and len(tried) == len(waiting) else -1
