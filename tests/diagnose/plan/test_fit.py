"""How many pods of manifests fit on what is free."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from webhook.diagnose.plan.fit import Fit, Fitter
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


def fits(text: str, held: Mapping[tuple[str, str], int] | None = None, namespace: str = "") -> list[Fit]:
    fitter = Fitter(OfflineEvaluator.of(Settings(), Facts(nodes=NODES)), held or {}, namespace)
    found = [one for one in objects(Source("m.yaml", text.encode())) if isinstance(one, Manifest | Diagnostic)]
    return list(fitter.fits(found))


def test_pods_take_free_replicas_of_admitting_nodes() -> None:
    (found,) = fits(deployment(replicas=7), {("a", CARD): 3, ("b", CARD): 2})
    assert (found.wanted, found.fitting, found.nodes, found.is_short) == (7, 7, (("a", 1), ("b", 6)), False)
    assert str(found.subject) == "Deployment team-a/llm"


def test_objects_take_from_each_other() -> None:
    found = fits("---\n".join([deployment("one", 10), deployment("two", 10)]))
    assert [(one.subject.name, one.fitting, one.is_short) for one in found] == [("one", 10, False), ("two", 2, True)]


def test_selector_limits_nodes() -> None:
    (found,) = fits(deployment(replicas=9, selector="{pool: a}"))
    assert (found.fitting, found.nodes) == (4, (("a", 4),))


def test_overcommitted_node_takes_nothing() -> None:
    (found,) = fits(deployment(replicas=9), {("a", CARD): 9, ("b", CARD): 8})
    assert (found.fitting, found.nodes) == (0, ())


def test_object_that_the_webhook_denies_fits_nowhere() -> None:
    (found,) = fits(deployment(replicas=1, gpus=2))
    assert (found.is_denied, found.fitting, found.is_short) == (True, 0, True)


def test_pod_counts_once_and_without_gpu_not_at_all() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c, resources: %s}]}\n"
    (found,) = fits("---\n".join([pod % "{limits: {nvidia.com/gpu: 1}}", pod % "{}"]), namespace="team-b")
    assert (found.wanted, found.fitting, str(found.subject)) == (1, 1, "Pod team-b/p-")


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: [", "m.yaml:2:1"), ("{apiVersion: v1, kind: Pod, spec: {containers: {}}}", "m.yaml:1:")],
    ids=["no YAML", "malformed"],
)
def test_unreadable_manifest_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        fits(text)
    assert said in str(error.value)
