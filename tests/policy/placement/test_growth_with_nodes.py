"""CPU time does not multiply with the nodes, taints and namespaces of a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.hostile import GPU, container, each, pod, required
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Namespace, Node, RuntimeClass, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.selector import MOST_LISTED, MOST_LISTED_TERMS
from webhook.policy.settings.settings import Injections, Settings, SteeringInjection, TolerationInjection

pytestmark = pytest.mark.slow

Json = dict[str, Any]

SETTINGS = {
    "nodes out of reach": Settings(injections=Injections(steering=SteeringInjection(True))),
    "taints tolerated": Settings(
        injections=Injections(
            steering=SteeringInjection(True), tolerations=TolerationInjection(from_nodes=("taint-*",))
        )
    ),
}


def cluster(count: int) -> Facts:
    """`count` nodes, as many namespaces and classes.

    Each node has a label, a taint, a value of another taint, a kind of card and a MIG resource of its own.
    """
    nodes = tuple(
        Node(
            f"n{number}",
            {
                "nvidia.com/gpu.sharing-strategy": "mps",
                f"label-{number}": "x",
                "nvidia.com/gpu.replicas": str(number + 2),
                "nvidia.com/gpu.memory": str(1024 * (number + 2)),
            },
            (Taint(f"taint-{number}", "NoSchedule", "x"), Taint("taint-of-team", "NoSchedule", f"team-{number}")),
            {GPU: number + 1, f"nvidia.com/mig-{number}": 1},
        )
        for number in range(count)
    )
    namespaces = tuple(Namespace(f"namespace-{number}", {"a": "b"}) for number in range(count))
    classes = tuple(RuntimeClass(f"class-{number}") for number in range(count))
    return Facts(nodes, namespaces, classes)


def expression(number: int, operator: str = "Exists") -> Json:
    return {"key": f"label-{number}", "operator": operator}


PODS: dict[str, Callable[[int], Json]] = {
    "terms": lambda count: pod(affinity=required(each(count, lambda n: {"matchExpressions": [expression(n)]}))),
    "expressions": lambda count: pod(
        affinity=required([{"matchExpressions": each(count, lambda n: expression(n, "DoesNotExist"))}])
    ),
    "expressions that are compared with each node": lambda _: pod(
        affinity=required([{"matchExpressions": each(MOST_LISTED, expression)}] * MOST_LISTED_TERMS)
    ),
    "numbers": lambda count: pod(
        affinity=required(
            each(
                count,
                lambda n: {
                    "matchExpressions": [{"key": "nvidia.com/gpu.replicas", "operator": "Gt", "values": [str(n)]}]
                },
            )
        )
    ),
    "tolerations": lambda count: pod(
        tolerations=each(count, lambda n: {"key": f"taint-{n}", "operator": "Equal", "value": "y"})
    ),
    "MIG resources": lambda count: pod(
        containers=[{"name": "c", "resources": {"limits": {f"nvidia.com/mig-{n}": 1 for n in range(count)}}}]
    ),
    "containers with a limit": lambda count: pod(
        containers=each(
            count, lambda n: container(n, env=[{"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "9"}])
        )
    ),
    "memory limit": lambda _: pod(
        containers=[container(env=[{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=1G"}])]
    ),
    "tolerations of one key": lambda count: pod(
        tolerations=each(count, lambda n: {"key": "taint-of-team", "operator": "Equal", "value": f"team-{n}"})
    ),
    "containers that ask for two": lambda count: pod(
        containers=each(count, lambda n: container(n, resources={"limits": {GPU: 2}}))
    ),
}

FEW, TIMES = 400, 4
EVALUATORS = {
    (name, count): OfflineEvaluator.of(settings, cluster(count))
    for name, settings in SETTINGS.items()
    for count in (FEW, FEW * TIMES)
}


def seconds(settings: str, build: Callable[[int], Json], count: int) -> float:
    """The CPU time for a pod with `count` elements in a cluster with `count` nodes."""
    manifest, evaluator = build(count), EVALUATORS[settings, count]
    start = time.process_time()
    evaluator.evaluate(manifest, "", "Pod", RequestContext("team-a", groups=()))
    return time.process_time() - start


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("shape", PODS)
def test_cpu_time_of_pod_does_not_multiply_with_nodes(shape: str, settings: str) -> None:
    for _ in range(5):
        large = seconds(settings, PODS[shape], FEW * TIMES)
        small = min(seconds(settings, PODS[shape], FEW) for _ in range(3))
        if large <= TIMES * 2.5 * max(small, 0.001):
            return
    raise AssertionError(f"{shape}: {small:.4f} s for {FEW}, {large:.4f} s for {FEW * TIMES}")


def test_cpu_time_of_namespace_does_not_multiply_with_known_ones() -> None:
    def rules(count: int) -> float:
        evaluator = OfflineEvaluator.of(Settings(), Facts(namespaces=cluster(count).namespaces))
        start = time.process_time()
        for number in range(count):
            evaluator.snapshot.of(f"namespace-{number}")
        return time.process_time() - start

    for _ in range(5):
        large, small = rules(FEW * TIMES), min(rules(FEW) for _ in range(3))
        if large <= TIMES * 2.5 * small:
            return
    raise AssertionError(f"{small:.4f} s for {FEW}, {large:.4f} s for {FEW * TIMES}")
