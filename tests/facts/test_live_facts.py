"""Facts that follow the cluster: published once per change, kept or dropped when the API server is lost.

The API server is a fake; `tests/cluster` follows a real one.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from tests.facts.fake_cluster import CONFIG_MAPS, DAEMON_SETS, NAMESPACES, NODES, RUNTIME_CLASSES, FakeCluster, gpu_node
from tests.facts.live import Live, following
from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.placement.cluster_objects import (
    DevicePlugin,
    Namespace,
    Node,
    NodePart,
    PluginConfig,
    Replicas,
    RuntimeClass,
)
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import ALWAYS, MOST
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings, Settings
from webhook.policy.verdict import Decision

pytestmark = virtual

CLASSES = FactsSettings(runtime_classes=True)
ONLY_NODES = FactsSettings(nodes=True)
CONFIGS = FactsSettings(device_plugin=DevicePluginSource(("gpu/configs",)))
PLUGIN = FactsSettings(device_plugin=DevicePluginSource(("gpu/configs",), "gpu/plugin"))

MPS = "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"


def node(name: str, amount: int = 4, **labels: str) -> Node:
    return Node(name, labels, (), {"nvidia.com/gpu": amount})


def runtime_class(handler: str = "nvidia", **selector: str) -> dict[str, Any]:
    return {"handler": handler, "scheduling": {"nodeSelector": selector}}


async def test_facts_are_unknown_until_read_then_sorted() -> None:
    cluster = FakeCluster()
    cluster.put(RUNTIME_CLASSES, "runc", {"handler": "runc"})
    cluster.put(RUNTIME_CLASSES, "nvidia", runtime_class(gpu="yes"))
    live = Live(cluster, CLASSES)
    source = live.source("runtime-classes")
    assert (live.published, source.age, source.count, source.pending) == ([], None, 0, True)
    await wait(1)
    expected = (RuntimeClass("nvidia", "nvidia", {"gpu": "yes"}), RuntimeClass("runc", "runc"))
    assert [fields for _, fields in live.published] == [{"runtime_classes": expected}]
    assert live.logged == [("info", "runtime classes read", {"names": ["nvidia", "runc"], "count": 2})]
    assert (source.count, source.pending, source.failing) == (2, False, False)


async def test_each_change_is_published_once() -> None:
    cluster, live = await following(CLASSES)
    cluster.put(RUNTIME_CLASSES, "nvidia", runtime_class())
    await wait(2)
    cluster.put(RUNTIME_CLASSES, "nvidia", runtime_class("cdi"))
    await wait(2)
    cluster.put(RUNTIME_CLASSES, "nvidia", {**runtime_class("cdi"), "metadata": {"labels": {"a": "b"}}})
    cluster.bookmark(RUNTIME_CLASSES)
    await wait(2)
    cluster.delete(RUNTIME_CLASSES, "nvidia")
    await wait(2)
    states = [fields["runtime_classes"] for _, fields in live.published]
    assert states == [(), (RuntimeClass("nvidia", "nvidia"),), (RuntimeClass("nvidia", "cdi"),), ()]


async def test_heartbeat_publishes_nothing() -> None:
    cluster, live = await following(ONLY_NODES, (NODES, "a", gpu_node(zone="z")))
    for beat in range(50):
        cluster.put(NODES, "a", {**gpu_node(zone="z"), "status": {**gpu_node()["status"], "conditions": [beat]}})
        cluster.put(NODES, "no-gpu", {"status": {"capacity": {"cpu": str(beat)}}})
    await wait(2)
    assert [fields for _, fields in live.published] == [{"nodes": (node("a", zone="z"),)}]
    cluster.put(NODES, "a", gpu_node(zone="other"))
    await wait(2)
    assert live.in_force == {"nodes": (node("a", zone="other"),)}


async def test_changes_are_coalesced_and_published_within_two_seconds() -> None:
    cluster = FakeCluster()
    live = Live(cluster, ONLY_NODES)
    await wait(5)
    for number in range(500):
        cluster.put(NODES, f"n{number:03}", gpu_node())
        await wait(0.02)
    began = asyncio.get_running_loop().time()
    cluster.put(NODES, "last", gpu_node())
    await wait(3)
    times = [time for time, _ in live.published]
    assert all(later - earlier > 0.999 for earlier, later in itertools.pairwise(times))
    assert 10 <= len(times) <= 14
    assert times[-1] - began <= 2
    assert len(live.in_force["nodes"]) == 501


async def test_one_source_down_leaves_others_alone() -> None:
    cluster = FakeCluster()
    cluster.put(NODES, "a", gpu_node())
    cluster.down.add(NAMESPACES)
    live = Live(cluster, FactsSettings(nodes=True, namespaces=True))
    await wait(5)
    assert live.in_force == {"nodes": (node("a"),)}
    assert live.errors("namespaces cannot be read") == ["no answer"]
    assert (live.source("namespaces").failing, live.source("nodes").failing) == (True, False)
    cluster.put(NODES, "b", gpu_node())
    await wait(2)
    assert live.in_force == {"nodes": (node("a"), node("b"))}
    cluster.down.clear()
    cluster.put(NAMESPACES, "team", {"metadata": {"labels": {"a": "b"}}})
    await wait(61)
    assert live.in_force["namespaces"] == (Namespace("team", {"a": "b"}),)
    assert not live.source("namespaces").failing


async def test_slow_source_does_not_delay_others() -> None:
    cluster = FakeCluster()
    cluster.slow.add(NAMESPACES)
    live = Live(cluster, FactsSettings(nodes=True, namespaces=True))
    await wait(2)
    assert live.in_force == {"nodes": ()}
    await wait(10)
    assert live.in_force == {"nodes": (), "namespaces": ()}


async def test_unconfirmed_facts_expire_and_return() -> None:
    cluster = FakeCluster()
    cluster.put(NODES, "a", gpu_node())
    live = Live(cluster, FactsSettings(nodes=True, max_age=900.0))
    await wait(20)
    cluster.down.add(NODES)
    cluster.end(NODES, ConnectionError("broken off"))
    await wait(870)
    assert live.in_force == {"nodes": (node("a"),)}
    await wait(20)
    assert live.in_force == {"nodes": None}
    assert live.events("warning")[-1] == "nodes too old"
    cluster.down.clear()
    await wait(63)
    assert live.in_force == {"nodes": (node("a"),)}
    assert live.events("info")[-1] == "nodes read"


async def test_shorter_max_age_than_bookmarks_counts_as_two_minutes() -> None:
    cluster = FakeCluster()
    live = Live(cluster, FactsSettings(nodes=True, max_age=1.0))
    for _ in range(10):
        await wait(60)
        cluster.bookmark(NODES)
    assert [fields for _, fields in live.published] == [{"nodes": ()}]
    await wait(125)
    assert live.in_force == {"nodes": None}
    assert live.events("warning") == ["nodes too old"]


async def test_runtime_classes_never_expire() -> None:
    """An injected class that does not exist rejects every pod."""
    cluster = FakeCluster()
    cluster.put(RUNTIME_CLASSES, "runc", {"handler": "runc"})
    live = Live(cluster, CLASSES)
    await wait(20)
    cluster.down.add(RUNTIME_CLASSES)
    cluster.end(RUNTIME_CLASSES, ConnectionError("broken off"))
    reads = len(cluster.reads)
    await wait(3600)
    assert live.in_force == {"runtime_classes": (RuntimeClass("runc", "runc"),)}
    age = live.source("runtime-classes").age
    assert age is not None
    assert 3600 <= age <= 3621
    assert len(cluster.reads) - reads <= 124, "6 during 31 s of growing waits, then at most one every 30 s"
    assert live.events() == ["runtime classes read", "runtime classes cannot be read"]
    cluster.down.clear()
    cluster.put(RUNTIME_CLASSES, "nvidia", runtime_class())
    await wait(61)
    assert live.in_force["runtime_classes"] == (RuntimeClass("nvidia", "nvidia"), RuntimeClass("runc", "runc"))
    assert live.events()[2:] == ["runtime classes read again", "runtime classes read"]


async def test_failed_publication_is_retried() -> None:
    cluster = FakeCluster()
    live = Live(cluster, CLASSES)
    takes: list[object] = []

    async def failing_once(fields: object) -> None:
        takes.append(fields)
        if len(takes) == 1:
            raise LookupError("on purpose")

    live.facts = type(live.facts)(cluster, CLASSES, ALWAYS, failing_once, live.log)
    (_, watch), (_, publish) = live.facts.tasks()
    watching = asyncio.ensure_future(watch())
    with pytest.raises(LookupError):
        await publish()
    again = asyncio.ensure_future(publish())
    await wait(2)
    assert takes == [{"runtime_classes": ()}] * 2
    for task in (watching, again):
        task.cancel()


async def test_pending_ends_after_ten_seconds() -> None:
    cluster = FakeCluster()
    cluster.down.add(NODES)
    live = Live(cluster, ONLY_NODES)
    await wait(9)
    assert live.source("nodes").pending
    await wait(2)
    assert not live.source("nodes").pending


async def test_pending_ends_when_facts_are_in_force() -> None:
    cluster = FakeCluster()
    cluster.down.add(NODES)
    live = Live(cluster, ONLY_NODES)
    await wait(0.5)
    assert live.source("nodes").pending
    cluster.down.clear()
    await wait(4)
    assert not live.source("nodes").pending
    cluster.down.add(NODES)
    cluster.end(NODES, ConnectionError("broken off"))
    await wait(60)
    assert not live.source("nodes").pending


def daemon_set(default: str, tag: str = "v0.20.0") -> dict[str, Any]:
    """The DaemonSet of NVIDIA's chart."""
    environment = [
        {"name": "DEFAULT_CONFIG", "value": default},
        {"name": "FALLBACK_STRATEGIES", "value": "named,single"},
    ]
    manager = {"name": "nvidia-device-plugin-init", "command": ["config-manager"], "env": environment}
    plugin = {"name": "nvidia-device-plugin-ctr", "image": f"example.com/k8s-device-plugin:{tag}"}
    return {"spec": {"template": {"spec": {"initContainers": [manager], "containers": [plugin]}}}}


async def test_device_plugin_follows_config_map_and_daemon_set() -> None:
    cluster, live = await following(
        PLUGIN,
        (CONFIG_MAPS, "configs", {"data": {"a": MPS, "b": "version: v1"}}),
        (DAEMON_SETS, "plugin", daemon_set("b")),
    )
    shared = PluginConfig("a", "mps", None, (Replicas("nvidia.com/gpu", 4),))
    whole = PluginConfig("b")
    configs = (shared, whole)
    assert live.in_force == {"device_plugin": DevicePlugin(None, "v0.20.0", configs, "b", runtime_class="")}
    cluster.put(DAEMON_SETS, "plugin", daemon_set("a", "v0.19.1"))
    await wait(2)
    assert live.in_force == {"device_plugin": DevicePlugin(None, "v0.19.1", configs, "a", runtime_class="")}
    cluster.put(CONFIG_MAPS, "configs", {"data": {"b": "version: v1"}})
    await wait(2)
    assert live.in_force == {"device_plugin": DevicePlugin(runtime_class="", version="v0.19.1", configs=(whole,))}


async def test_deleted_config_map_is_known_to_be_missing() -> None:
    cluster, live = await following(
        CONFIGS,
        (CONFIG_MAPS, "configs", {"data": {"default": MPS}}),
        (CONFIG_MAPS, "unrelated", {"data": {"default": "?"}}),
    )
    assert live.in_force["device_plugin"].default_config == "default"
    cluster.delete(CONFIG_MAPS, "configs")
    await wait(2)
    assert live.in_force["device_plugin"] == DevicePlugin(configs=())
    await wait(3600)
    assert live.problems() == ["ConfigMap gpu/configs does not exist"]
    cluster.put(CONFIG_MAPS, "configs", {"data": {"default": MPS}})
    await wait(2)
    assert live.in_force["device_plugin"].default_config == "default"


async def test_deletion_between_read_and_watch_is_noticed_by_next_watch() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "configs", {"data": {"default": MPS}})
    live = Live(cluster, CONFIGS)
    await wait(0.015)
    assert (len(cluster.reads), len(cluster.watched)) == (1, 1)
    cluster.objects[CONFIG_MAPS].clear()
    await wait(240)
    assert live.in_force["device_plugin"].configs != ()
    cluster.end(CONFIG_MAPS)
    await wait(3)
    assert live.in_force["device_plugin"].configs == ()


async def test_named_objects_are_never_listed() -> None:
    cluster = FakeCluster()
    cluster.forbidden |= {("list", CONFIG_MAPS), ("list", DAEMON_SETS)}
    Live(cluster, PLUGIN)
    await wait(2)
    assert sorted(cluster.reads) == [f"{CONFIG_MAPS}/configs", f"{DAEMON_SETS}/plugin"]
    assert [query["fieldSelector"] for _, query in cluster.watched] == ["metadata.name=configs", "metadata.name=plugin"]


async def test_daemon_set_unknown_leaves_configurations_known() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "configs", {"data": {"default": MPS}})
    cluster.down.add(DAEMON_SETS)
    live = Live(cluster, PLUGIN)
    await wait(2)
    found = live.in_force["device_plugin"]
    assert ([config.name for config in found.configs], found.default_config) == (["default"], None)
    assert live.source("device-plugin").age is None


async def test_expired_watch_lists_again() -> None:
    cluster, live = await following(ONLY_NODES)
    cluster.objects[NODES]["missed"] = {**gpu_node(), "metadata": {"name": "missed", "resourceVersion": "9"}}
    cluster.expire(NODES)
    await wait(20)
    assert live.in_force == {"nodes": (node("missed"),)}
    assert live.errors("nodes cannot be watched") == [f"watch of {NODES}: too old resource version"]
    assert [read.partition("?")[0] for read in cluster.reads] == [NODES, NODES]
    cluster.bookmark(NODES)
    await wait(1)
    assert live.events()[-1] == "nodes watched again"


async def test_relisting_equal_objects_publishes_nothing() -> None:
    cluster = FakeCluster()
    for number in range(1200):
        cluster.put(NODES, f"n{number:04}", gpu_node())
    live = Live(cluster, ONLY_NODES)
    await wait(5)
    before = live.in_force["nodes"]
    cluster.expire(NODES)
    await wait(20)
    assert len(live.published) == 1
    cluster.expire(NODES)
    cluster.delete(NODES, "n0000")
    await wait(20)
    after = live.in_force["nodes"]
    assert len(after) == 1199
    assert all(one is other for one, other in zip(before[1:], after, strict=True)), "equal objects are kept"
    cluster.objects[NODES]["n0001"]["metadata"]["labels"] = {"zone": "z"}
    cluster.expire(NODES)
    await wait(20)
    assert live.in_force["nodes"][0] == node("n0001", zone="z")


MOST_TRIES = 27
"""In 600 s, where the waits are the shortest: 0.5, 1, 2, 4, 8 and 16 s, and then half a minute each."""


@pytest.mark.parametrize("error", [None, ConnectionError("cut off")])
@pytest.mark.parametrize("path", [NODES, CONFIG_MAPS])
async def test_short_lived_watches_back_off(path: str, error: Exception | None) -> None:
    cluster = FakeCluster()
    live = Live(cluster, ONLY_NODES if path == NODES else CONFIGS)
    for _ in range(12_000):
        cluster.end(path, error)
        await wait(0.05)
    assert len(cluster.watched) <= MOST_TRIES
    assert len(cluster.reads) <= MOST_TRIES
    failures = [event for event in live.events("warning") if "cannot be watched" in event]
    assert len(failures) == (1 if error else 0)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("ADDED", {}),
        ("ADDED", {"metadata": {"resourceVersion": "8"}}),
        ("BOOKMARK", {"metadata": None}),
        ("BOOKMARK", {"metadata": {"resourceVersion": ""}}),
        ("MODIFIED", {**gpu_node(), "metadata": {"name": "a", "resourceVersion": "8", "labels": "none"}}),
        ("ERROR", {"message": "\x1b[31m" + "m" * 10_000}),
        ("ERROR", []),
    ],
)
async def test_malformed_event_is_logged_and_lists_again(kind: str, found: Any) -> None:
    cluster, live = await following(ONLY_NODES)
    cluster.send(NODES, kind, found)
    await wait(5)
    assert len(cluster.reads) == 2
    (said,) = live.errors("nodes cannot be watched")
    assert said.isprintable()
    assert len(said) <= 600
    cluster.put(NODES, "a", gpu_node())
    await wait(2)
    assert live.in_force == {"nodes": (node("a"),)}


async def test_log_line_names_at_most_twenty_objects() -> None:
    cluster = FakeCluster()
    for number in range(1000):
        cluster.put(RUNTIME_CLASSES, f"{number:04}", {"handler": "x"})
    live = Live(cluster, CLASSES)
    await wait(2)
    ((_, _, fields),) = live.logged
    assert (len(fields["names"]), fields["count"]) == (20, 1000)


async def test_node_that_loses_its_gpus_disappears() -> None:
    cluster, live = await following(ONLY_NODES, (NODES, "a", gpu_node()))
    gone = {"nvidia.com/gpu": "0"}
    cluster.put(NODES, "a", {"status": {"capacity": gone, "allocatable": gone}})
    await wait(2)
    assert live.in_force == {"nodes": (node("a", 0),)}
    cluster.put(NODES, "a", {"status": {"capacity": {"cpu": "4"}}})
    await wait(2)
    assert live.in_force == {"nodes": ()}


async def test_problem_of_configuration_is_logged_once_per_change() -> None:
    cluster, live = await following(CONFIGS, (CONFIG_MAPS, "configs", {"data": {"bad": "version: v2"}}))
    cluster.put(CONFIG_MAPS, "configs", {"data": {"bad": "version: v2", "good": MPS}})
    await wait(2)
    expected = 'ConfigMap gpu/configs, key bad: version: must be v1, not "v2"'
    assert live.problems() == [expected]
    cluster.put(CONFIG_MAPS, "configs", {"data": {"bad": "version: v3"}})
    await wait(2)
    assert live.problems() == [expected, expected.replace("v2", "v3")]


def labelled(count: int) -> dict[str, Any]:
    return gpu_node(**{f"label-{number}": "x" for number in range(count)})


KEPT = MOST["labels"]


def beyond(name: str, part: NodePart = "labels") -> str:
    return f"node {name}: has more than the {MOST[part]} {part} that are kept; the others are unknown"


async def test_node_beyond_the_bounds_is_logged_once_however_often_it_changes() -> None:
    cluster, live = await following(ONLY_NODES, (NODES, "evil", labelled(KEPT + 1)))
    for more in range(2, 300):
        cluster.put(NODES, "evil", labelled(KEPT + more))
        cluster.put(NODES, "other", gpu_node(changed=str(more)))
        await wait(1)
    assert live.problems() == [beyond("evil")]


async def test_node_that_crosses_the_bounds_again_and_again_is_logged_every_ten_minutes() -> None:
    cluster = FakeCluster()
    live = Live(cluster, ONLY_NODES)
    for _ in range(30):
        cluster.put(NODES, "evil", labelled(KEPT + 1))
        await wait(30)
        cluster.put(NODES, "evil", labelled(1))
        await wait(30)
    assert live.problems() == [beyond("evil")] * 3


async def test_each_reason_is_logged_for_each_node() -> None:
    cluster = FakeCluster()
    taints = [{"key": f"t{number}", "effect": "NoSchedule"} for number in range(MOST["taints"] + 1)]
    cluster.put(NODES, "a", {**labelled(KEPT + 1), "spec": {"taints": taints}})
    cluster.put(NODES, "b", labelled(KEPT + 1))
    live = Live(cluster, ONLY_NODES)
    await wait(2)
    assert live.problems() == [beyond("a"), beyond("a", "taints"), beyond("b")]


@pytest.mark.slow
async def test_lines_about_many_nodes_are_bounded() -> None:
    """A hundred of one snapshot, and a thousand in ten minutes."""
    cluster = FakeCluster()
    for number in range(120):
        cluster.put(NODES, f"n{number:04}", labelled(KEPT + 1))
    live = Live(cluster, ONLY_NODES)
    await wait(2)
    assert live.problems() == [beyond(f"n{number:04}") for number in range(100)]
    for first in range(100, 1500, 100):
        for number in range(first - 100, first):
            cluster.delete(NODES, f"n{number:04}")
        for number in range(first + 20, first + 120):
            cluster.put(NODES, f"n{number:04}", labelled(KEPT + 1))
        await wait(2)
    assert len(live.problems()) == 1000


WHOLE = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.replicas": "1"}


def whole_card_pod_is_allowed(live: Live) -> bool:
    spec = {
        "nodeSelector": {"nvidia.com/gpu.product": "Tesla-T4"},
        "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 2}}}],
    }
    evaluator = OfflineEvaluator.of(Settings(), Facts(nodes=live.in_force["nodes"]))
    verdict = evaluator.evaluate({"spec": spec}, "", "Pod", RequestContext("team-a", groups=()))
    return verdict.decision is not Decision.DENIED


async def test_node_that_grows_too_large_leaves_the_others_known() -> None:
    cluster = FakeCluster()
    cluster.put(NODES, "whole", gpu_node(**WHOLE))
    cluster.put(NODES, "evil", gpu_node(pool="evil"))
    cluster.largest = 3000
    live = Live(cluster, ONLY_NODES)
    await wait(2)
    assert whole_card_pod_is_allowed(live)
    cluster.objects[NODES]["evil"]["status"]["images"] = [{"names": ["<" * 4000]}]
    cluster.end(NODES, ConnectionError("watch of /api/v1/nodes: a line is larger than 3000 bytes"))
    await wait(10)
    cluster.put(NODES, "whole-2", gpu_node(**WHOLE))
    await wait(2)
    assert [one.name for one in live.in_force["nodes"]] == ["evil", "whole", "whole-2"]
    assert live.in_force["nodes"][0] == Node("evil", {"pool": "evil"}, incomplete=("taints", "resources"))
    assert live.problems() == ["node evil: too large to be read; its taints and resources are unknown"]
    assert whole_card_pod_is_allowed(live)
    await live.stop()
    started_anew = Live(cluster, ONLY_NODES)
    await wait(2)
    assert whole_card_pod_is_allowed(started_anew)
    cluster.objects[NODES]["evil"]["status"].pop("images")
    cluster.end(NODES, ConnectionError("reset"))
    await wait(10)
    assert started_anew.in_force["nodes"][0] == node("evil", pool="evil")
