"""The links before and beside the device plugin, in the states well, broken, not seen and not needed.

And what is left of a chain where files, or rights, lack a part of the GPU stack.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.diagnose.both import StandIn, cluster_of
from tests.diagnose.cluster_objects import GPU, Object, container, mps_node, pod
from tests.diagnose.why.recorded import Recorded
from tests.diagnose.why.site import (
    CONFIGS,
    PRESENT,
    a_node,
    answers,
    config_map,
    daemon,
    daemon_set,
    discovery,
    plugin,
    saved,
    sharing,
    waiting,
)
from webhook.cluster.objects import DAEMON_SET, Kind, LiveObjects
from webhook.cluster.reading import Owner
from webhook.diagnose.chain import Chain, Held, Link, chains
from webhook.diagnose.pods import LivePod, held_by_node
from webhook.diagnose.why.gather import Question
from webhook.policy.placement.cluster_objects import Node, RuntimeClass
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings

FEATURE = "feature.node.kubernetes.io/"
BY_CLASS = {f"{FEATURE}pci-0300_10de.present": "true"}
SHARED = f"{GPU}.shared"
TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}
DEAD: dict[str, Any] = {"ready": False, "detail": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
GROUP = {"eks.amazonaws.com/nodegroup": "gpu", "eks.amazonaws.com/instance-gpu-manufacturer": "nvidia"}


def wants(*keys: str) -> Object:
    """The affinity of the plugin's chart: one of these labels."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": ["true", "NVIDIA"]}]} for key in keys]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


OF_CHART = wants(f"{FEATURE}pci-10de.present", f"{FEATURE}cpu-model.vendor_id", "nvidia.com/gpu.present")


def workers(on: Any = ("gpu-1",), **fields: Any) -> list[Object]:
    """Node feature discovery."""
    return daemon_set("nfd", {"name": "worker", "image": "nfd:v0.16", "command": ["nfd-worker"]}, on=on, **fields)


def a_class(name: str = "nvidia", handler: str = "nvidia") -> Object:
    return {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name}, "handler": handler}


class Forbidding(Recorded):
    """A cluster of which the caller may not list a kind."""

    def __init__(self, kind: Kind, *found: Object) -> None:
        super().__init__(*(one for one in found if one["kind"].lower() != kind.name))
        self.kind = kind

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002
        return kind == self.kind


WELL, BROKEN, NOT_SEEN = (False, False), (True, False), (False, True)


def state_of(found: Link) -> tuple[bool, bool]:
    """Whether a link is broken, and whether a part of it was not seen."""
    return found.finding is not None, bool(found.unseen)


def link(name: str, *found: Object | list[Object], lacks: Kind | None = None, classes: Any = ()) -> Link:
    """A link of the node gpu-1."""
    return next(one for one in chain_of(*found, lacks=lacks, classes=classes).links if one.name == name)


def chain_of(*found: Object | list[Object], lacks: Kind | None = None, classes: Any = ()) -> Chain:
    objects = [each for one in found for each in (one if isinstance(one, list) else [one])]
    node = next(one for one in objects if one["kind"] == "Node")
    known = Node("gpu-1", node["metadata"]["labels"])
    facts = Facts(nodes=(known,), runtime_classes=classes)
    cluster = Recorded(*objects) if lacks is None else Forbidding(lacks, *objects)
    (chain,) = asyncio.run(chains(cluster, Settings(), facts, [known], ""))
    return chain


# Node feature discovery.


@pytest.mark.parametrize(
    ("words", "remedy", "found"),
    [
        (
            "its label of node feature discovery, feature.node.kubernetes.io/pci-0300_10de.present, is not one",
            "kubectl label node gpu-1 nvidia.com/gpu.present=true, or set deviceLabelFields: [vendor]",
            [a_node(labels=BY_CLASS), plugin(on=(), affinity=OF_CHART), workers()],
        ),
        (
            "node feature discovery is not installed",
            "set nfd.enabled: true",
            [a_node(labels=GROUP), plugin(on=(), affinity=OF_CHART)],
        ),
        (
            "node feature discovery does not tolerate the taint team=ml:NoSchedule",
            "add {key: team, operator: Exists} to the tolerations of its worker: kubectl -n nvidia-device-plugin edit",
            [a_node(labels=GROUP, taints=[TAINT]), plugin(on=(), affinity=OF_CHART), workers(on=())],
        ),
        (
            "0 of 1 worker of node feature discovery ready",
            "kubectl -n nvidia-device-plugin describe daemonset/nfd",
            [a_node(labels=GROUP), plugin(on=(), affinity=OF_CHART), workers(ready=False)],
        ),
    ],
)
def test_node_without_the_label_that_the_plugin_selects_by(words: str, remedy: str, found: list[Any]) -> None:
    cause = answers(waiting(tolerations=[{"operator": "Exists"}]), *found)[0]
    assert words in cause.cause
    assert remedy in str(cause.remedy)
    assert "nvidia.com/gpu.present" in cause.evidence[0]


def test_node_feature_discovery_that_runs_nowhere_is_why_no_node_shows_a_gpu() -> None:
    both = ("cpu-1", "gpu-1")
    found: list[Any] = [waiting(), *map(a_node, both), plugin(on=(), affinity=OF_CHART)]
    cause = answers(*found, workers(both, ready=False))[0]
    down = "0 of 2 workers of node feature discovery ready: nothing labels nodes, such as cpu-1"
    assert cause.cause == f"no node offers {GPU}: {down}"
    assert str(cause.remedy) == "kubectl -n nvidia-device-plugin describe daemonset/nfd"
    for others in ([], workers(both)):
        assert "no label of a node that its selectors admit shows a GPU" in answers(*found, others)[0].cause


def test_worker_of_a_tenant_does_not_show_that_node_feature_discovery_is_down() -> None:
    both = ("cpu-1", "gpu-1")
    found: list[Any] = [waiting(), *map(a_node, both), plugin(on=(), affinity=OF_CHART)]
    forged, real = workers(both, ready=False), workers(both)
    for one in forged:
        one["metadata"]["namespace"] = "team-b"
    assert "no label of a node that its selectors admit shows a GPU" in answers(*found, forged, real)[0].cause
    down = answers(*found, forged, workers(both, ready=False))[0]
    assert "kubectl -n nvidia-device-plugin describe daemonset/nfd" in str(down.remedy)
    labelled: list[Any] = [waiting(), a_node(labels=GROUP), plugin(on=(), affinity=OF_CHART)]
    assert "1 of 1 worker" in answers(*labelled, workers(ready=False, namespace="team-b"), workers())[0].cause


def test_node_without_a_sign_of_gpus_costs_one_list() -> None:
    cluster = cluster_of([a_node(), *plugin(on=(), affinity=OF_CHART)])
    bare = Node("gpu-1", {})
    asyncio.run(chains(LiveObjects(StandIn(cluster)), Settings(), Facts(nodes=(bare,)), [], "", [bare]))
    assert Counter(cluster.asked)[DAEMON_SET.path()] == 1
    assert not any(path.startswith(("/api/v1/nodes", "/api/v1/pods")) for path in cluster.asked)


def test_no_label_by_hand_where_the_plugin_does_not_select_by_it() -> None:
    found: list[Any] = [a_node(labels=BY_CLASS), plugin(on=(), affinity=wants(f"{FEATURE}pci-10de.present"))]
    assert "kubectl label" not in str(answers(waiting(), *found)[0].remedy)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (WELL, [a_node(labels=BY_CLASS, gpus=1), plugin(affinity=OF_CHART)]),
        (WELL, [a_node(labels=PRESENT), plugin(affinity=OF_CHART)]),
        (WELL, [a_node(labels=BY_CLASS), plugin(on=(), nodeSelector={"pool": "old"})]),
        (BROKEN, [a_node(labels=BY_CLASS), plugin(on=(), affinity=OF_CHART)]),
    ],
)
def test_states_of_node_feature_discovery(state: tuple[bool, bool], found: list[Any]) -> None:
    assert state_of(link("node feature discovery", *found)) == state


def test_node_feature_discovery_is_not_seen_without_daemon_sets() -> None:
    unseen = link("node feature discovery", a_node(labels=PRESENT), plugin(on=()), lacks=DAEMON_SET)
    assert (unseen.finding, unseen.unseen) == (None, "daemonsets")


# The runtime class of the plugin.


def test_class_of_the_plugin_that_does_not_exist() -> None:
    found: list[Any] = [
        a_node(labels=PRESENT),
        plugin(on=(), with_manager=False, runtimeClassName="nvidia"),
        a_class("other"),
    ]
    broken = link("runtime class", *found, classes=(RuntimeClass("other", "other"),))
    assert broken.finding is not None
    assert "names RuntimeClass nvidia, which does not exist" in broken.finding.cause
    assert broken.finding.evidence == ("RuntimeClasses: other",)
    assert "kind: RuntimeClass, metadata: {name: nvidia}, handler: nvidia}" in str(broken.finding.remedy)


def test_plugin_without_the_class_that_brings_the_driver() -> None:
    cause = answers(waiting(), a_node(labels=PRESENT), plugin(with_manager=False), a_class())[0]
    assert "runs and finds no card" in cause.cause
    edit = "kubectl -n nvidia-device-plugin edit daemonset/plugin"
    assert str(cause.remedy) == f"set runtimeClassName: nvidia in its pod template: {edit}"
    assert "RuntimeClass nvidia has the handler nvidia" in cause.evidence


NVIDIA = (RuntimeClass("nvidia", "nvidia"),)


@pytest.mark.parametrize(
    ("state", "classes", "found"),
    [
        (WELL, NVIDIA, [a_node(labels=PRESENT, gpus=1), plugin(with_manager=False)]),
        (WELL, NVIDIA, [a_node(labels=PRESENT), plugin(with_manager=False, runtimeClassName="nvidia")]),
        (WELL, (), [a_node(labels=PRESENT), plugin(with_manager=False)]),
        (WELL, NVIDIA, [a_node(labels=PRESENT), plugin(with_manager=False, **DEAD)]),
        (WELL, NVIDIA, [a_node(labels=PRESENT)]),
        (NOT_SEEN, None, [a_node(labels=PRESENT), plugin(with_manager=False)]),
        (BROKEN, NVIDIA, [a_node(labels=PRESENT), plugin(with_manager=False)]),
    ],
)
def test_states_of_the_runtime_class(state: tuple[bool, bool], classes: Any, found: list[Any]) -> None:
    assert state_of(link("runtime class", *found, classes=classes)) == state


# Who holds replicas.


def test_room_beside_holders() -> None:
    node = mps_node("mps-1", 2)
    holder = LivePod("team-a", "one", Owner("Job", "one"), "mps-1", "Running", "", {GPU: 1})
    held = Held(held_by_node([holder]), is_complete=True)
    assert (held.has_room(node, {GPU: 1}), held.has_room(node, {GPU: 2})) == (True, False)
    assert held.described(node, GPU) == "node mps-1: 1 of 2 held by team-a/one (1)"
    assert "holders are not known" in Held({}, is_complete=False).described(node, GPU)


# Parts of the stack that nothing shows.


def without(kind: str, *found: Object | list[Object]) -> list[Object]:
    return [each for one in found for each in (one if isinstance(one, list) else [one]) if each["kind"].lower() != kind]


def test_pod_of_the_plugin_shows_its_daemon_set() -> None:
    """The DaemonSet is not in the files: the plugin's pod on the node has the same containers."""
    crashing: list[Any] = [waiting(), a_node(labels=PRESENT), plugin(with_manager=False, **DEAD)]
    own, live = saved(*without("daemonset", *crashing))[0], answers(*crashing)[0]
    assert (own.cause, str(own.remedy), own.evidence) == (live.cause, str(live.remedy), live.evidence)


def test_configuration_is_read_by_the_pod_of_the_plugin() -> None:
    container = {"env": [{"name": "CONFIG_FILE", "value": "/config/any"}]}
    container["volumeMounts"] = [{"name": "configs", "mountPath": "/config"}]
    found = without(
        "daemonset",
        [waiting(asks={SHARED: 1}), a_node(labels={**PRESENT, "nvidia.com/gpu.count": "1"}, gpus=1)],
        config_map(any=sharing(renameByDefault=True)),
        plugin(with_manager=False, container=container),
    )
    for one in found:  # as the DaemonSet gives it to its pods
        if one["metadata"]["name"].startswith("plugin-"):
            one["spec"]["volumes"] += CONFIGS
    assert "was not restarted since the edit" in saved(*found)[0].cause


def test_daemon_of_mps_is_not_seen_by_the_pod_of_the_plugin() -> None:
    labels = {**PRESENT, "nvidia.com/mps.capable": "true", "nvidia.com/gpu.count": "1"}
    found: list[Any] = [
        a_node(labels=labels, gpus=0),
        config_map(default=sharing("mps")),
        plugin(),
        discovery(),
        daemon(),
    ]
    unseen = link("MPS control daemon", *without("pod", *found), lacks=DAEMON_SET)
    assert unseen.unseen


def test_daemon_set_without_its_pods_counts_as_its_status_says() -> None:
    ready = [waiting(), a_node(labels=PRESENT, gpus=0), plugin(with_manager=False)]
    dead = [waiting(), a_node(labels=PRESENT, gpus=0), plugin(with_manager=False, **DEAD)]
    pods = {"plugin-gpu-1"}

    def of_files(objects: list[Any]) -> str:
        kept = [one for one in without("", *objects) if one["metadata"]["name"] not in pods]
        return saved(*kept)[0].cause

    assert "is not ready" not in of_files(ready)
    assert "is not ready" in of_files(dead)


def test_files_without_the_stack_say_how_to_save_it() -> None:
    cause = saved(waiting(), a_node(labels={**PRESENT, **GROUP}))[0]
    assert "node gpu-1 offers none, and its device plugin does not run there, or not yet" in cause.cause
    assert "kubectl get daemonsets,pods -A -o yaml" in str(cause.remedy)
    assert any("k8s.amazonaws.com/accelerator" in one for one in cause.evidence)


def test_rights_without_the_stack_show_the_node() -> None:
    chain = chain_of(a_node(labels=PRESENT), lacks=DAEMON_SET)
    assert chain.is_unclear
    assert chain.broken is None


def test_files_without_the_stack_and_labels_of_the_chart() -> None:
    cause = saved(waiting(), a_node(labels=BY_CLASS))[0]
    assert "pci-0300_10de.present, is not one by which the device plugin selects nodes" in cause.cause
    assert "kubectl label node gpu-1 nvidia.com/gpu.present=true" in str(cause.remedy)


def test_shares_that_no_configuration_makes() -> None:
    cause = saved(waiting(asks={SHARED: 1}), a_node(labels=PRESENT, gpus=1))[0]
    assert f"node gpu-1 offers 1 of {GPU}, and no configuration" in cause.cause
    assert "renameByDefault: true, or take a whole card" in str(cause.remedy)


def test_shares_under_the_name_of_a_card() -> None:
    cause = saved(waiting(asks={SHARED: 1}), a_node(labels={**PRESENT, "nvidia.com/gpu.replicas": "4"}, gpus=4))[0]
    assert str(cause.remedy).startswith(f"ask for {GPU}: ")


def test_shares_without_feature_discovery() -> None:
    cause = saved(waiting(asks={SHARED: 1}), a_node(labels=PRESENT))[0]
    assert "or waits for the MPS control daemon" in cause.cause
    assert "set gfd.enabled: true" in str(cause.remedy)
    assert any("no label of GPU feature discovery" in one for one in cause.evidence)
    labelled = saved(waiting(asks={SHARED: 1}), a_node(labels={**PRESENT, "nvidia.com/gpu.product": "A2"}))[0]
    assert "gfd.enabled" not in str(labelled.remedy)


def test_pods_of_the_stack_without_an_owner_show_no_daemon_set() -> None:
    bare = pod("plugin", {"name": "nvidia-device-plugin-ctr"}, namespace="kube-system", node="gpu-1")
    assert "is not ready" not in saved(waiting(), a_node(labels=PRESENT), bare)[0].cause


@pytest.mark.parametrize(("amount", "read"), [(1, False), (2, True)])
def test_node_is_read_for_its_unhealthy_cards_only_where_it_has_no_room(amount: int, *, read: bool) -> None:
    node, holder = a_node(labels=PRESENT, gpus=2), pod("a", container("main", amount), node="gpu-1")
    asked = waiting()
    cluster = cluster_of([asked, node, holder])

    async def more(_parts: object) -> Facts:
        return Facts(nodes=(Node("gpu-1", PRESENT, (), {GPU: 2}),), device_classes=())

    asyncio.run(Question(LiveObjects(StandIn(cluster)), Settings(), more).case("Pod", "team-a", asked))
    assert ("/api/v1/nodes/gpu-1" in cluster.asked) is read
