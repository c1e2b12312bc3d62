"""The nearest node, against a naive model that looks at one node and one requirement after the other."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, event, given, settings

from tests import scheduler
from tests.policy.placement.landing import placement
from tests.strategies.selecting import GPU, POOL, nearly_placed_pods, offering_clusters
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import Node, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.nearest import (
    Failure,
    PluginDown,
    Shortfall,
    TooManyTerms,
    TransientTaint,
    Unmet,
    Untolerated,
    WrongNodeName,
    nearest_failure,
)
from webhook.policy.placement.selector import MOST_LISTED, MOST_LISTED_TERMS, NAME_FIELD
from webhook.policy.settings.elements import WorkloadPath
from webhook.policy.settings.settings import Settings, Workloads
from webhook.policy.verdict import Finding

Json = dict[str, Any]


class Demanded(NamedTuple):
    """An entry of the node selector or an expression, with its path below the spec."""

    path: tuple[str | int, ...]
    expression: Json
    is_field: bool

    def met_by(self, node: Node) -> bool:
        return scheduler.meets(self.expression, node.name if self.is_field else node.labels.get(self.expression["key"]))


def alternatives(pod: Json) -> list[list[Demanded]]:
    selector = [
        Demanded(("nodeSelector", key), {"key": key, "operator": "In", "values": [value]}, False)
        for key, value in pod["spec"]["nodeSelector"].items()
    ]
    terms = scheduler.terms_of(pod)
    if terms is None:
        return [selector]
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    return [
        selector
        + [
            Demanded((*path, index, field, place), expression, field == "matchFields")
            for field in ("matchExpressions", "matchFields")
            for place, expression in enumerate(term.get(field, []))
        ]
        for index, term in enumerate(terms)
        if any(term.values())
    ]


def asked(pod: Json) -> int:
    amount: int = pod["spec"]["containers"][0]["resources"]["limits"][GPU.name]
    return amount


def untolerated(pod: Json, node: Node) -> list[Taint]:
    effects = {"NoExecute"} if pod["spec"].get("nodeName") else {"NoExecute", "NoSchedule"}
    held = pod["spec"].get("tolerations", [])
    return [
        taint
        for taint in node.taints
        if taint.effect in effects and not any(scheduler.tolerates(toleration, taint) for toleration in held)
    ]


class OnNode:
    """What a pod fails on one node."""

    def __init__(self, pod: Json, node: Node) -> None:
        taints = untolerated(pod, node)
        kept = scheduler.without_passing_states(node).taints
        self.lasting = [taint for taint in taints if taint in kept]
        self.passing = [taint for taint in taints if taint not in kept]
        self.is_short = node.resources[GPU.name] < asked(pod)
        self.unmet = [[one for one in demands if not one.met_by(node)] for demands in alternatives(pod)]
        self.is_selected = any(not unmet for unmet in self.unmet)

    @property
    def kind(self) -> type[Failure] | None:
        """The only failure that lasts, or None for several."""
        if self.is_selected and not self.lasting:
            return Shortfall
        if self.is_short:
            return None
        if self.is_selected:
            return Untolerated if len(self.lasting) == 1 else None
        return Unmet if not self.lasting and any(len(unmet) == 1 for unmet in self.unmet) else None


def expected(pod: Json, nodes: tuple[Node, ...]) -> tuple[type[Failure] | None, bool, list[str]]:
    """The kind of failure, whether it is the only one, and the nodes that it may name."""
    bound = pod["spec"].get("nodeName")
    named = [node for node in nodes if not bound or node.name == bound]
    placed = [(node, OnNode(pod, node)) for node in named]
    later = [
        (node, on_node)
        for node, on_node in placed
        if on_node.is_selected and not on_node.lasting and (not on_node.is_short or not any(node.resources.values()))
    ]
    if any(not on_node.passing and not on_node.is_short for _, on_node in later):
        return None, True, []
    for node, on_node in later:
        return TransientTaint if on_node.passing else PluginDown, True, [node.name]
    offering = [node for node in named if node.resources[GPU.name]]
    if not offering:
        return WrongNodeName, True, []
    for kind in (Shortfall, Untolerated, Unmet):
        of_kind = [node for node in offering if OnNode(pod, node).kind is kind]
        if kind is Shortfall and of_kind:
            most = max(node.resources[GPU.name] for node in of_kind)
            return kind, True, [next(node.name for node in of_kind if node.resources[GPU.name] == most)]
        if kind is Unmet:
            return kind, bool(of_kind), [node.name for node in of_kind or offering]
        if of_kind:
            return kind, True, [of_kind[0].name]
    raise AssertionError


def failure_of(pod: Json, nodes: tuple[Node, ...]) -> Failure | None:
    return nearest_failure(placement(pod, nodes))


@pytest.mark.slow
@settings(max_examples=400)
@given(nearly_placed_pods(), offering_clusters())
def test_nearest_node_agrees_with_naive_model(pod: Json, nodes: tuple[Node, ...]) -> None:
    assume(any(node.resources[GPU.name] for node in nodes))
    found = failure_of(pod, nodes)
    kind, alone, names = expected(pod, nodes)
    event(f"{type(found).__name__}, alone: {alone}")
    if kind is Unmet and not alone:
        assert isinstance(found, (Unmet, Untolerated, TooManyTerms))
        assert not getattr(found, "alone", False)
        assert isinstance(found, TooManyTerms) == (not alternatives(pod) and not isinstance(found, Untolerated))
    else:
        assert type(found) is (kind or type(None))
        assert getattr(found, "alone", True) is True
    if isinstance(found, (TransientTaint, PluginDown, Shortfall, Untolerated, Unmet)):
        assert found.node.name in names
        fails_as_said(pod, found)
    if isinstance(found, (TransientTaint, Shortfall, Untolerated, Unmet)):
        remedied_pod_passes_there(pod, found)


def fails_as_said(pod: Json, found: TransientTaint | PluginDown | Shortfall | Untolerated | Unmet) -> None:
    on_node = OnNode(pod, found.node)
    match found:
        case TransientTaint(_, taint):
            assert taint in on_node.passing
        case PluginDown(node, resource):
            assert (resource, node.resources[GPU.name]) == (GPU.name, 0)
        case Shortfall(node, _, offered):
            assert offered == node.resources[GPU.name] < asked(pod)
        case Untolerated(_, taint, _):
            assert taint in on_node.lasting
        case Unmet(_, expression, _):
            assert expression.path in {("spec", *one.path) for one in chain(*on_node.unmet)}


def remedied_pod_passes_there(pod: Json, found: TransientTaint | Shortfall | Untolerated | Unmet) -> None:
    """Apply the remedy: the node takes the pod, except for passing taints, where this was the only failure."""
    remedied = copy.deepcopy(pod)
    match found:
        case TransientTaint():
            pass
        case Shortfall(_, _, offered):
            remedied["spec"]["containers"][0]["resources"]["limits"][GPU.name] = offered
        case Untolerated(_, taint, _):
            remedied["spec"]["tolerations"].append({"key": taint.key, "value": taint.value, "effect": taint.effect})
        case Unmet(node, expression, _):
            holder = remedied
            for step in expression.path[:-1]:
                holder = holder[step]  # type: ignore[index]
            held = node.name if expression.key == NAME_FIELD else node.labels.get(expression.key)
            if expression.is_selector and held is None:
                del holder[expression.path[-1]]  # type: ignore[arg-type]
            elif expression.is_selector:
                holder[expression.path[-1]] = held  # type: ignore[index]
            elif held is None:
                holder[expression.path[-1]] = {"key": expression.name, "operator": "DoesNotExist"}  # type: ignore[index]
            else:
                holder[expression.path[-1]] = {"key": expression.name, "operator": "In", "values": [held]}  # type: ignore[index]
    after = OnNode(remedied, found.node)
    if getattr(found, "alone", True):
        assert after.is_selected
        assert not after.lasting
        assert not after.is_short or (isinstance(found, TransientTaint) and not any(found.node.resources.values()))
        assert scheduler.admits(remedied, scheduler.without_passing_states(found.node))
    else:
        before = OnNode(pod, found.node)
        assert len(after.lasting) < len(before.lasting) or sum(map(len, after.unmet)) < sum(map(len, before.unmet))


CARD = Node("gpu-1", {POOL: "x"}, (), {GPU.name: 1})
LONG = "x" * 63
LONG_NODE = Node("n" * 253, {f"{'d' * 253}/{LONG}": "v" * 63}, (), {GPU.name: 4})
LONG_TAINT = Taint(f"{'t' * 253}/{LONG}", "PreferNoSchedule", "v" * 63)


def pod_of(amount: int = 1, **spec: Any) -> Json:
    container = {"name": "c" * 63, "resources": {"limits": {GPU.name: amount}}}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def required(*terms: list[Json]) -> Json:
    selectors = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": selectors}}}


def findings(pod: Json, *nodes: Node) -> list[Finding]:
    evaluator = OfflineEvaluator.of(Settings(), Facts(nodes))
    verdict = evaluator.evaluate(pod, "", "Pod", RequestContext("team-a"))
    return [found for found in verdict.findings if found.code == "GPS014"]


LONG_KEY = f"{'k' * 253}/{LONG}"
LONG_CASES: dict[str, tuple[Json, Node]] = {
    "amount": (pod_of(10**30), LONG_NODE),
    "taint": (pod_of(), replace(LONG_NODE, taints=(replace(LONG_TAINT, effect="NoSchedule"),))),
    "several taints": (
        pod_of(),
        replace(LONG_NODE, taints=(replace(LONG_TAINT, effect="NoSchedule"), replace(LONG_TAINT, effect="NoExecute"))),
    ),
    "passing": (pod_of(), replace(LONG_NODE, taints=(Taint(f"node.kubernetes.io/{LONG}", "NoSchedule", LONG),))),
    "stopped": (pod_of(), replace(LONG_NODE, resources={GPU.name: 0})),
    "missing label": (pod_of(nodeSelector={LONG_KEY: LONG}), LONG_NODE),
    "several labels": (pod_of(nodeSelector={LONG_KEY: LONG, "b": LONG}), LONG_NODE),
    "other label": (pod_of(nodeSelector={next(iter(LONG_NODE.labels)): LONG}), LONG_NODE),
    "expression": (
        pod_of(affinity=required([{"key": LONG_KEY, "operator": "In", "values": [LONG, "a" * 63, "b" * 63, "c"]}])),
        LONG_NODE,
    ),
    "node name": (pod_of(nodeName="m" * 253), LONG_NODE),
}


@pytest.mark.parametrize("case", LONG_CASES)
def test_message_with_longest_names_fits(case: str) -> None:
    (found,) = findings(*LONG_CASES[case])
    assert len(f"{found.code} {found.message}") <= 120
    assert found.message.isprintable()
    assert found.remedy.isprintable()


def expressions(count: int) -> list[Json]:
    return [{"key": f"label-{number}", "operator": "Exists"} for number in range(count)]


def selecting(count: int, *terms: list[Json]) -> Json:
    return pod_of(nodeSelector={f"selected-{number}": "x" for number in range(count)}, affinity=required(*terms))


@pytest.mark.parametrize(
    ("pod", "is_listed"),
    [
        (selecting(0, expressions(MOST_LISTED)), True),
        (selecting(0, expressions(MOST_LISTED + 1)), False),
        (selecting(0, *[expressions(1)] * MOST_LISTED_TERMS), True),
        (selecting(0, *[expressions(1)] * (MOST_LISTED_TERMS + 1)), False),
        (selecting(2, expressions(MOST_LISTED - 2)), True),
        (selecting(2, expressions(MOST_LISTED - 1)), False),
    ],
    ids=["most expressions", "one more expression", "most terms", "one more term", "most of both", "one more of both"],
)
def test_longer_affinity_gets_message_without_node(pod: Json, *, is_listed: bool) -> None:
    (found,) = findings(pod, CARD)
    assert ("gpu-1" in found.message) is is_listed


def test_longer_node_selector_gets_message_without_node() -> None:
    (found,) = findings(pod_of(nodeSelector={f"label-{number}": "x" for number in range(MOST_LISTED + 1)}), CARD)
    assert found.message == 'nodes offer "nvidia.com/gpu", but none of them can take the pod'


def test_longer_affinity_still_names_taint_or_amount() -> None:
    labelled = replace(CARD, labels={f"label-{number}": "x" for number in range(100)})
    tainted = replace(labelled, taints=(Taint("team", "NoSchedule"),))
    pod = pod_of(affinity=required(expressions(100)))
    assert '"team:NoSchedule"' in findings(pod, tainted)[0].message
    pod = pod_of(2, affinity=required(expressions(100)))
    assert 'the nearest node, "gpu-1", has 1' in findings(pod, labelled)[0].message


@pytest.mark.parametrize(
    ("amount", "others", "count"),
    [(1, (), 0), (9, (), 1), (2, (CARD,), 0), (9, (CARD,), 1)],
    ids=["tainted node", "too many", "tainted node is large enough", "too many for each"],
)
def test_bare_container_reports_only_amount(amount: int, others: tuple[Node, ...], count: int) -> None:
    """Tolerations and selectors of its pod are not known."""
    tainted = Node("tainted", {}, (Taint("team", "NoSchedule"),), {GPU.name: 8})
    settings = Settings(workloads=Workloads(paths=(WorkloadPath("Predictor", "spec.model", holds="container"),)))
    evaluator = OfflineEvaluator.of(settings, Facts((tainted, *others)))
    predictor = {"spec": {"model": {"resources": {"limits": {GPU.name: amount}}}}}
    verdict = evaluator.evaluate(predictor, "", "Predictor", RequestContext("team-a"))
    assert [found.code for found in verdict.findings].count("GPS014") == count
