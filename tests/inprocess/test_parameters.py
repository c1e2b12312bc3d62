"""The parameters of policies: where they name a fact, the evaluator with all facts injects alike for each pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import settings as options
from hypothesis import strategies as st

from tests.strategies.selecting import GPU, LABELLED, POOL, SHARED, nearly_placed_pods, taints
from webhook.inprocess.parameters import parameters
from webhook.inprocess.validating import RULES
from webhook.policy.context import Origin, PodContext
from webhook.policy.evaluate import Evaluator
from webhook.policy.placement.cluster_objects import (
    DeviceClass,
    DevicePlugin,
    Node,
    PluginConfig,
    Replicas,
    RuntimeClass,
    Taint,
)
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_classes import CAPABLE, CONFIG_LABEL, STRATEGY
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import (
    FactsSettings,
    Injections,
    Limits,
    RuntimeClassInjection,
    Settings,
    TolerationInjection,
)
from webhook.policy.verdict import Severity, Verdict

Json = dict[str, Any]

PIPES = {"pipeDirectory", "pipeMount"}
DEFAULTS = Settings()
MPS = {STRATEGY: "mps", CAPABLE: "true"}
CREATE = Origin("team", hostpath=True, groups=("system:authenticated",))


def found(facts: Facts, settings: Settings = DEFAULTS) -> dict[str, str]:
    """The parameters, without the mode."""
    made = parameters(Evaluator.of(settings, facts).ruleset)
    assert made.pop("mode") == "enforce"
    return made


def sharing(facts: Facts, settings: Settings = DEFAULTS) -> dict[str, str]:
    """The parameter about shared resources."""
    return {key: value for key, value in found(facts, settings).items() if key == "sharing"}


SHARED_BY_ALL = {"sharing": "mps"}


def offering(name: str, labels: dict[str, str], *held: Taint, amount: int = 4) -> Node:
    """A node that offers GPUs."""
    return Node(name, labels, held, {GPU.name: amount})


A, B, WHOLE = offering("a", MPS), offering("b", MPS), offering("whole", {STRATEGY: "none", CAPABLE: "false"})


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ((A, B), SHARED_BY_ALL),
        ((), SHARED_BY_ALL),
        (None, SHARED_BY_ALL),
        ((A, Node("cpu", {})), SHARED_BY_ALL),
        ((A, WHOLE), {}),
        ((A, replace(WHOLE, resources={GPU.name: 0})), {}),
        ((A, replace(WHOLE, resources={})), SHARED_BY_ALL),
        ((A, offering("sliced", {STRATEGY: "time-slicing"})), {}),
        ((A, offering("unlabelled", {})), {}),
        ((A, replace(B, incomplete=("labels",))), SHARED_BY_ALL),
        ((A, replace(offering("c", {}), incomplete=("labels",))), {}),
        ((A, replace(Node("more", MPS), incomplete=("resources",))), SHARED_BY_ALL),
        ((A, Node("more", {}, incomplete=("resources",))), {}),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value and [node.name for node in value]),
)
def test_sharing_is_named_where_all_gpu_nodes_use_mps(nodes: tuple[Node, ...] | None, expected: dict[str, str]) -> None:
    assert sharing(Facts(nodes=nodes)) == expected


@pytest.mark.parametrize(
    "wanted",
    [
        FactsSettings(nodes=True),
        FactsSettings(device_classes=True),
        FactsSettings(device_plugin=DevicePluginSource(("gpu/configs",))),
    ],
)
def test_sharing_is_absent_while_wanted_facts_are_unknown(wanted: FactsSettings) -> None:
    assert sharing(Facts(), Settings(facts=wanted)) == {}
    known = Facts(nodes=(A,), device_classes=(), device_plugin=DevicePlugin())
    assert sharing(known, Settings(facts=wanted)) == SHARED_BY_ALL


def test_sharing_is_absent_where_a_device_class_serves_a_shared_resource() -> None:
    assert sharing(Facts(nodes=(A,), device_classes=(DeviceClass("gpu", GPU.name),))) == {}
    assert sharing(Facts(nodes=(A,), device_classes=(DeviceClass("other", "example.com/x"),))) == SHARED_BY_ALL


def test_sharing_is_absent_where_a_configuration_does_not_use_mps() -> None:
    plugin = DevicePlugin(configs=(PluginConfig("m", "mps"), PluginConfig("whole")))
    assert sharing(Facts(nodes=(A,), device_plugin=plugin)) == {}


STRICT = PluginConfig("strict", "mps", None, (Replicas(GPU.name, 4),))
OPEN = PluginConfig("open", "mps", False, (Replicas(GPU.name, 4),))


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (None, {"runtimeClass": "inject", "runtimeClassSelector": ""}),
        ((), {}),
        ((RuntimeClass("nvidia"),), {"runtimeClass": "inject", "runtimeClassSelector": ""}),
        (
            (RuntimeClass("nvidia", "nvidia", {"pool": "gpu", "b.com/a": ""}),),
            {"runtimeClass": "inject", "runtimeClassSelector": "b.com/a=,pool=gpu"},
        ),
        ((RuntimeClass("nvidia", "nvidia", {"pool": "a,b"}),), {}),
        ((RuntimeClass("nvidia", "nvidia", {"a=b": "c"}),), {}),
        ((RuntimeClass("nvidia", "kata-nvidia"),), {}),
        ((RuntimeClass("nvidia"), RuntimeClass("nvidia-legacy")), {}),
    ],
)
def test_runtime_class(classes: tuple[RuntimeClass, ...] | None, expected: dict[str, str]) -> None:
    made = found(Facts(runtime_classes=classes))
    assert {key: value for key, value in made.items() if key.startswith("runtimeClass")} == expected


def test_runtime_class_waits_for_wanted_facts() -> None:
    assert "runtimeClass" not in found(Facts(), Settings(facts=FactsSettings(runtime_classes=True)))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ((offering("a", MPS, Taint("gpu", "NoSchedule", "x")),), "gpu|NoSchedule"),
        (
            (offering("a", MPS, Taint("gpu", "NoExecute"), Taint("dedicated", "NoSchedule")),),
            "dedicated|NoSchedule;gpu|NoExecute",
        ),
        ((offering("a", MPS, Taint("gpu", "NoSchedule")), B), None),
        ((offering("a", MPS, Taint("gpu", "NoSchedule")), Node("cpu", {})), "gpu|NoSchedule"),
        ((offering("a", MPS, Taint("node.kubernetes.io/unschedulable", "NoSchedule")),), None),
        ((Node("cpu", {}, (Taint("gpu", "NoSchedule"),)),), None),
    ],
)
def test_tolerations_of_taints_that_all_gpu_nodes_have(nodes: tuple[Node, ...], expected: str | None) -> None:
    tolerations = TolerationInjection(from_nodes=("*",))
    made = found(Facts(nodes=nodes), Settings(injections=Injections(tolerations=tolerations)))
    assert made.get("tolerations") == expected


def test_cap_is_the_mode() -> None:
    assert parameters(Evaluator.of(Settings()).capped("warn").ruleset)["mode"] == "warn"


@st.composite
def mps_clusters(draw: st.DrawFn) -> tuple[Node, ...]:
    """Mostly MPS nodes, some with a configuration of the device plugin."""
    labelled = LABELLED[:3] if draw(st.integers(0, 3)) else LABELLED
    nodes = []
    for index in range(draw(st.integers(0, 3))):
        labels = {
            **draw(st.sampled_from(labelled)),
            **draw(st.sampled_from([{}, {POOL: "a"}, {POOL: "1"}])),
            **draw(st.sampled_from([{}, {CONFIG_LABEL: "strict"}, {CONFIG_LABEL: "open"}, {CONFIG_LABEL: "gone"}])),
        }
        offered = draw(st.sampled_from([{}, {GPU.name: 0}, {GPU.name: 3}, {GPU.name: 3, SHARED.name: 2}]))
        nodes.append(Node(f"n{index}", labels, tuple(draw(st.lists(taints, max_size=2, unique=True))), offered))
    return tuple(nodes)


plugins = st.none() | st.builds(
    DevicePlugin,
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "v0.20.0"]),
    st.none() | st.lists(st.sampled_from([STRICT, OPEN]), unique=True).map(tuple),
    st.sampled_from([None, "", "strict", "open"]),
)
runtime_classes = st.none() | st.lists(
    st.sampled_from(
        [
            RuntimeClass("nvidia", "nvidia"),
            RuntimeClass("nvidia", "nvidia", {POOL: "a"}),
            RuntimeClass("nvidia", "kata"),
            RuntimeClass("nvidia-legacy"),
        ]
    ),
    max_size=2,
).map(tuple)
facts = st.builds(
    Facts,
    nodes=st.none() | mps_clusters(),
    runtime_classes=runtime_classes,
    device_classes=st.sampled_from([None, None, (), (DeviceClass("gpu", GPU.name),)]),
    device_plugin=plugins,
)
tainted = st.lists(st.sampled_from(LABELLED), min_size=1, max_size=3).map(
    lambda labels: Facts(
        nodes=tuple(
            offering(f"n{place}", each, Taint("gpu", "NoSchedule"), Taint(f"own{place}", "NoSchedule"))
            for place, each in enumerate(labels)
        )
    )
)


@st.composite
def asking(draw: st.DrawFn) -> Json:
    """A pod that selects nodes, asks for shares in several containers, and may set a pipe directory of its own."""
    pod = draw(nearly_placed_pods())
    containers = pod["spec"]["containers"]
    names = st.sampled_from([GPU.name, GPU.name, SHARED.name, "nvidia.com/mig-1g.5gb"])
    for index in range(draw(st.integers(0, 2))):
        amounts = draw(st.dictionaries(names, st.integers(0, 3), max_size=2))
        containers.append({"name": f"c{index}", "resources": {"limits": amounts}})
    if draw(st.booleans()):
        containers[0]["env"] = [{"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/elsewhere"}]
        containers[0]["volumeMounts"] = [{"name": "v", "mountPath": "/mps/nvidia.com/gpu/pipe"}]
    return pod


def verdict(pod: Json, settings: Settings, known: Facts, origin: Origin) -> Verdict:
    evaluator = Evaluator.of(settings, known)
    return evaluator.verdict(evaluator.pods(pod, "", "Pod"), origin)


@pytest.mark.slow
@options(max_examples=300)
@given(asking(), facts)
def test_labels_give_no_pod_a_pipe_that_facts_withhold(pod: Json, known: Facts) -> None:
    made = sharing(known)
    assume(made)
    by_labels = set(verdict(pod, Settings(), Facts(), CREATE).injected) & PIPES
    assert by_labels <= set(verdict(pod, Settings(), known, CREATE).injected)


@pytest.mark.slow
@options(max_examples=200)
@given(asking(), facts)
def test_runtime_class_is_injected_where_parameters_say_so(pod: Json, known: Facts) -> None:
    injection = RuntimeClassInjection(sandboxes=("kata*",))
    settings = Settings(injections=Injections(runtime_class=injection))
    made = found(known, settings)
    assume("runtimeClass" in made)
    context = in_context(pod, settings, known)
    assume(context.requests.positive)
    selector = dict(pair.split("=") for pair in made["runtimeClassSelector"].split(",") if pair)
    contradicts = any(pod["spec"].get("nodeSelector", {}).get(key, value) != value for key, value in selector.items())
    assert ("runtimeClass" in verdict(pod, settings, known, CREATE).injected) is not contradicts


@pytest.mark.slow
@options(max_examples=200)
@given(asking(), tainted)
def test_pod_that_a_node_offers_its_gpus_gets_the_tolerations_of_parameters(pod: Json, known: Facts) -> None:
    settings = Settings(injections=Injections(tolerations=TolerationInjection(from_nodes=("*",))))
    made = found(known, settings)["tolerations"]
    placement = in_context(pod, settings, known).placement
    assume(placement.requests.positive and placement.selected & placement.offering[1])
    injected = [(raw["key"], raw["effect"]) for raw in placement.injected_tolerations]
    assert {tuple(each.split("|")) for each in made.split(";")} <= set(injected)


@st.composite
def wrong_pods(draw: st.DrawFn) -> Json:
    """A pod that asks for shares, and may violate each code that depends on nodes."""
    pod = draw(asking())
    spec = pod["spec"]
    spec.update(draw(st.fixed_dictionaries({}, optional={"hostPID": st.just(True), "hostUsers": st.just(False)})))
    spec["terminationGracePeriodSeconds"] = draw(st.sampled_from([0, 30]))
    for variable in (each for one in spec["containers"] for each in one.get("env", ())):
        variable["value"] = draw(st.sampled_from(["/elsewhere", *(f"/mps/{one.name}/pipe" for one in (GPU, SHARED))]))
    return pod


GUARDED = {rule.code for rule in RULES if rule.if_all_share is not None}
ONE_RESOURCE = {"GPS004"}
"""Codes for which a policy leaves out containers that name two shared resources."""
limits = st.builds(
    Limits,
    per_container=st.sampled_from([None, 1, 2]),
    per_pod=st.sampled_from([None, 1, 3]),
    from_device_plugin=st.booleans(),
)


@pytest.mark.slow
@options(max_examples=600)
@given(wrong_pods(), facts, limits)
def test_labels_deny_no_pod_that_facts_allow(pod: Json, known: Facts, limits: Limits) -> None:
    settings = Settings(resources=(GPU, SHARED), limits=limits, severities=dict.fromkeys(GUARDED, "deny"))
    made = found(known, settings)
    assume("sharing" in made)
    limit = made.get("limitMps")
    by_labels = replace(
        settings,
        limits=Limits(per_container=int(limit) if limit not in (None, "none") else None, per_pod=limits.per_pod),
    )
    origin = Origin("team", is_final_hook=True, groups=("system:authenticated",))
    denied = codes(verdict(pod, by_labels, Facts(), origin))
    if limit is None:
        denied -= {"GPS001", "GPS002"}
    if any(len({GPU.name, SHARED.name} & {*one["resources"]["limits"]}) > 1 for one in pod["spec"]["containers"]):
        denied -= ONE_RESOURCE
    assert denied <= codes(verdict(pod, settings, known, origin))


def codes(made: Verdict) -> set[str]:
    """The codes that deny, of those that depend on nodes."""
    return {one.code for one in made.findings if one.severity is Severity.DENY} & GUARDED


@pytest.mark.parametrize(
    ("limits", "plugin", "expected"),
    [
        (Limits(), None, "1"),
        (Limits(per_container=None), None, "none"),
        (Limits(per_container=3), DevicePlugin(), "3"),
        (Limits(per_container=3, from_device_plugin=True), None, "3"),
        (Limits(per_container=3, from_device_plugin=True), DevicePlugin(True, "v0.20.0"), "1"),
        (Limits(from_device_plugin=True), DevicePlugin(False, "v0.20.0"), None),
        (Limits(from_device_plugin=True), DevicePlugin(None, "v0.20.0", (STRICT,), "strict"), "1"),
        (Limits(per_container=3, from_device_plugin=True), DevicePlugin(None, "v0.20.0", (STRICT,), "strict"), None),
        (Limits(from_device_plugin=True), DevicePlugin(None, "v0.20.0", (STRICT, OPEN), "strict"), None),
        (Limits(per_container=3, from_device_plugin=True), DevicePlugin(None, None, (STRICT,)), None),
    ],
    ids=str,
)
def test_limit_is_named_where_all_mps_nodes_have_it(
    limits: Limits, plugin: DevicePlugin | None, expected: str | None
) -> None:
    opened = replace(B, labels={**MPS, CONFIG_LABEL: "open"})
    assert found(Facts(nodes=(A, opened), device_plugin=plugin), Settings(limits=limits)).get("limitMps") == expected


def in_context(pod: Json, settings: Settings, known: Facts) -> PodContext:
    evaluator = Evaluator.of(settings, known)
    (extracted,) = evaluator.pods(pod, "", "Pod")
    return evaluator.context(extracted, CREATE)
