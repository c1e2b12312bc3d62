"""What nodes whose agents write as much as they can cost: they go through the reader, and through a facts file.

Costs are compared with those of nodes that write little, so that no test depends on a machine.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from tests.linear import assert_at_most, assert_linear
from webhook.cluster import nodes as cluster_nodes
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, bounded
from webhook.policy.settings.settings import Injections, Settings, TolerationInjection
from webhook.settings.facts_file import portable, spelled_out
from webhook.settings.load import load_facts

pytestmark = pytest.mark.slow

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
MPS = {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}
TOLERATING = Settings(injections=Injections(tolerations=TolerationInjection(from_nodes=("t*",))))


def api_node(
    name: str, labels: Mapping[str, str] = MPS, taints: Iterable[str] = (), resources: Iterable[str] = ()
) -> bytes:
    """A node as the API server sends it."""
    units = {GPU: "4"} | dict.fromkeys(resources, "1")
    found = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]},
        "status": {"capacity": units, "allocatable": units},
    }
    return json.dumps(found).encode()


def read(found: Iterable[bytes]) -> Iterator[Node]:
    parse = cluster_nodes.parser(ALWAYS)
    for one in found:
        _, node = parse(msgspec.Raw(one))
        assert node is not None
        yield node


def facts(*found: bytes) -> Facts:
    """The facts of nodes, from a snapshot of them."""
    snapshot = spelled_out(portable(Facts(nodes=tuple(read(found))), Settings()))
    return load_facts(snapshot, lambda _: (1, 1), "facts.yaml")


def pod(amount: int = 1, **spec: Any) -> Json:
    return {"spec": {"containers": [{"name": "c", "resources": {"limits": {GPU: amount}}}], **spec}}


PODS = {
    "plain": pod(),
    "without a node": pod(
        9,
        nodeSelector={"no": "node"},
        tolerations=[{"key": f"t{number}", "operator": "Exists"} for number in range(50)],
    ),
    "short of an amount": pod(9),
}


def reviews(evaluator: OfflineEvaluator, manifest: Json) -> Callable[[], None]:
    def run() -> None:
        for _ in range(20):
            evaluator.evaluate(manifest, "", "Pod", RequestContext("team-a", groups=()))

    return run


HOSTILE = {
    "30,000 taints": api_node("evil", taints=[f"t{number}" for number in range(30_000)]),
    "40,000 labels": api_node("evil", {f"k{number}": str(number) for number in range(40_000)}),
    "60,000 resources": api_node("evil", resources=[f"nvidia.com/x{number}" for number in range(60_000)]),
    "60,000 parts of cards": api_node("evil", resources=[f"nvidia.com/mig-{number}" for number in range(60_000)]),
}


@pytest.mark.parametrize("manifest", PODS.values(), ids=PODS)
@pytest.mark.parametrize("evil", HOSTILE.values(), ids=HOSTILE)
def test_review_costs_no_more_beside_a_hostile_node(evil: bytes, manifest: Json) -> None:
    small = OfflineEvaluator.of(Settings(), facts(api_node("a"), api_node("b")))
    large = OfflineEvaluator.of(Settings(), facts(api_node("a"), evil))
    assert_at_most(3, reviews(small, manifest), reviews(large, manifest))


def injected(evaluator: OfflineEvaluator) -> list[str]:
    """The keys of the tolerations that a pod gets, but for the configured one."""
    edits = evaluator.evaluate(pod(), "", "Pod", RequestContext("team-a", groups=())).edits
    added: list[Any] = [edit.value for edit in edits if edit.path[-1] == "tolerations"]
    return [toleration["key"] for toleration in added[1:]]


def test_tolerations_for_taints_of_nodes_are_bounded() -> None:
    """Sixteen: those that most nodes have, so that a single node does not decide which."""
    of_team = api_node("a", taints=["tz"]), api_node("b", taints=["tz"])
    few = OfflineEvaluator.of(
        TOLERATING, facts(*of_team, api_node("c", taints=[f"t{number:02}" for number in range(15)]))
    )
    assert injected(few) == ["tz", *(f"t{number:02}" for number in range(15))]
    many = OfflineEvaluator.of(TOLERATING, facts(*of_team, HOSTILE["30,000 taints"]))
    assert len(injected(many)) == 16
    assert injected(many)[0] == "tz"
    assert_at_most(2, reviews(few, pod()), reviews(many, pod()))


def of_own(count: int) -> Facts:
    """Nodes with a label, a taint, an amount and a resource of their own each."""
    return facts(
        *(
            api_node(f"n{number}", MPS | {f"own-{number}": "x"}, [f"t{number}"], [f"nvidia.com/mig-{number}"])
            for number in range(count)
        )
    )


@pytest.mark.parametrize("manifest", PODS.values(), ids=PODS)
def test_review_costs_as_much_among_sixteen_times_the_nodes(manifest: Json) -> None:
    few, many = (OfflineEvaluator.of(Settings(), of_own(count)) for count in (250, 4000))
    assert_at_most(4, reviews(few, manifest), reviews(many, manifest))


def test_index_of_hostile_nodes_is_built_in_linear_time() -> None:
    def prepared(count: int) -> Callable[[], object]:
        found = tuple(hostile(number) for number in range(count))
        return lambda: OfflineEvaluator.of(Settings(), Facts(nodes=found))

    assert_linear(prepared, 4, 64)


def hostile(number: int) -> Node:
    """A node with as much as is kept of it, which no other node has."""
    return bounded(
        Node(
            f"n{number}",
            {f"k{number}-{each}": "v" for each in range(10_000)},
            tuple(Taint(f"t{number}-{each}", "NoSchedule") for each in range(2_000)),
            {GPU: 4} | {f"nvidia.com/mig-{number}-{each}": 1 for each in range(2_000)},
        )
    )


def test_hundred_nodes_of_ten_thousand_labels_stay_small() -> None:
    """Their facts, and two indexes, as while one replaces the other."""

    found = [
        api_node(f"n{number}", {f"key-{number}-{each}": f"value-{each}" for each in range(10_000)})
        for number in range(100)
    ]
    tracemalloc.start()
    try:
        known = Facts(nodes=tuple(read(found)))
        states = [OfflineEvaluator.of(Settings(), known) for _ in range(2)]
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [node.incomplete for node in known.nodes or ()] == [("labels",)] * 100
    assert len(states) == 2
    assert kept < 32 * 2**20
    assert peak < 48 * 2**20


class Counted(dict[str, str]):
    """Labels that count how many of them were read."""

    read = 0

    def items(self) -> Any:
        Counted.read += len(self)
        return super().items()


def test_step_reads_few_labels_however_many_nodes_have() -> None:
    """A step indexes nodes with about 1,000 labels together; four of the most hostile nodes, not 64 of them."""
    found = tuple(
        Node(f"n{number}", Counted({f"k{number}-{each}": "v" for each in range(256)})) for number in range(64)
    )
    Counted.read = 0
    most = before = 0
    for _ in OfflineEvaluator.building(Settings(), Facts(nodes=found)):
        most, before = max(most, Counted.read - before), Counted.read
    assert Counted.read == 64 * 256
    assert most <= 1024


def test_steps_grow_with_labels_not_with_nodes() -> None:
    def steps(nodes: int, labels: int) -> int:
        found = tuple(
            Node(f"n{number}", {f"k{number}-{each}": "v" for each in range(labels)}) for number in range(nodes)
        )
        return sum(1 for _ in OfflineEvaluator.building(Settings(), Facts(nodes=found)))

    assert steps(100, 256) > 10 * steps(100, 10)
