"""How many pods of manifests fit on what is free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from webhook.diagnose.plan.fit import Fitter
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source, objects
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

CARD = "nvidia.com/gpu"
MPS = {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}
NODES = (
    Node("a", {**MPS, "pool": "a"}, (), {CARD: 4}),
    Node("b", {**MPS, "pool": "b"}, (), {CARD: 8}),
    Node("tainted", MPS, (Taint("team", "NoSchedule", "x"),), {CARD: 8}),
)
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: team-a}}
spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {selector}
      containers:
      - {{name: c, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}
"""


def deployment(name: str = "llm", replicas: int = 3, gpus: int = 1, selector: str = "{}") -> str:
    return DEPLOYMENT.format(name=name, replicas=replicas, gpus=gpus, selector=selector)


def fits(
    text: str, held: Mapping[tuple[str, str], int] | None = None, namespace: str = "", ranges: Sequence[Any] = ()
) -> list[Any]:
    fitter = Fitter(OfflineEvaluator.of(Settings(), Facts(nodes=NODES)), held or {}, namespace, ranges)
    found = [one for one in objects(Source("m.yaml", text.encode())) if isinstance(one, Manifest | Diagnostic)]
    return list(fitter.fits(found))


def nodes(found: Any) -> dict[str, int]:
    return {one["node"]: one["count"] for one in found["nodes"]}


def test_pods_take_free_replicas_of_admitting_nodes() -> None:
    (found,) = fits(deployment(replicas=7), {("a", CARD): 3, ("b", CARD): 2})
    assert (found["wanted"], found["fitting"], nodes(found)) == (7, 7, {"a": 1, "b": 6})
    object_ = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team-a", "name": "llm"}
    assert found["object"] == object_


def test_objects_take_from_each_other() -> None:
    found = fits("---\n".join([deployment("one", 10), deployment("two", 10)]))
    assert [(one["object"]["name"], one["fitting"]) for one in found] == [("one", 10), ("two", 2)]


def test_selector_limits_nodes() -> None:
    (found,) = fits(deployment(replicas=9, selector="{pool: a}"))
    assert (found["fitting"], nodes(found)) == (4, {"a": 4})


def test_other_resources_of_a_pod_count(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Node("a", MPS, (), {CARD: 4, "example.com/nic": 1}), Node("b", MPS, (), {CARD: 4})
    monkeypatch.setattr("tests.diagnose.plan.test_fit.NODES", nodes)
    both = deployment(replicas=3).replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 1, example.com/nic: 1")
    (found,) = fits(both)
    assert (found["fitting"], found["nodes"]) == (1, [{"node": "a", "count": 1}])
    assert fits(both, {("a", "example.com/nic"): 1})[0]["fitting"] == 0


def test_overcommitted_node_takes_nothing() -> None:
    (found,) = fits(deployment(replicas=9), {("a", CARD): 9, ("b", CARD): 8})
    assert (found["fitting"], found["nodes"]) == (0, [])


def test_object_that_the_webhook_denies_fits_nowhere() -> None:
    (found,) = fits(deployment(replicas=1, gpus=2))
    assert (found["denied"], found["fitting"], found["nodes"]) == (True, 0, [])


def test_pod_counts_once_and_without_gpu_not_at_all() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c, resources: %s}]}\n"
    (found,) = fits("---\n".join([pod % "{limits: {nvidia.com/gpu: 1}}", pod % "{}"]), namespace="team-b")
    assert (found["wanted"], found["fitting"]) == (1, 1)
    assert (found["object"]["namespace"], found["object"]["name"]) == ("team-b", "p-")


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: [", "m.yaml:2:1"), ("{apiVersion: v1, kind: Pod, spec: {containers: {}}}", "m.yaml:1:")],
    ids=["no YAML", "malformed"],
)
def test_unreadable_manifest_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        fits(text)
    assert said in str(error.value)


def limit_range(kind: str, most: str, namespace: str = "team-a") -> Any:
    limits = [{"type": kind, "max": {CARD: most, "cpu": "4"}}]
    return {"metadata": {"name": "gpu-cap", "namespace": namespace}, "spec": {"limits": limits}}


@pytest.mark.parametrize(
    ("found", "fitting"),
    [
        (limit_range("Container", "0"), 0),
        (limit_range("Pod", "0"), 0),
        (limit_range("Container", "1"), 3),
        (limit_range("PersistentVolumeClaim", "0"), 3),
        (limit_range("Container", "0", "team-b"), 3),
    ],
)
def test_limit_range_of_the_namespace_refuses_pods(found: Any, fitting: int) -> None:
    (fit,) = fits(deployment(), ranges=[found])
    assert (fit["fitting"], fit["notes"]) == (fitting, [] if fitting else ["LimitRange gpu-cap refuses them"])


def test_scheduler_of_the_pod_is_named() -> None:
    (found,) = fits(deployment().replace("      containers", "      schedulerName: volcano\n      containers"))
    assert (found["fitting"], found["notes"]) == (3, ["scheduler volcano may place them in another way"])
