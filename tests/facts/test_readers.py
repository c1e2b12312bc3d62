"""How facts are first read: in pages, again after 410, in smaller pages after a huge answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.facts.fake_cluster import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    RUNTIME_CLASSES,
    FakeCluster,
    gpu_node,
)
from tests.facts.live import Live
from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.cluster.api_server import JSON
from webhook.cluster.classes import MOST_LABELS
from webhook.cluster.device_plugin import MOST_CONFIGS
from webhook.cluster.facts import read_facts
from webhook.cluster.nodes import MOST_OTHERS
from webhook.cluster.objects import ReadError
from webhook.policy.placement.cluster_objects import DeviceClass, DevicePlugin, Node, PluginConfig, RuntimeClass, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.elements import DevicePluginSource
from webhook.policy.settings.settings import FactsSettings

pytestmark = virtual

ONLY_NODES = FactsSettings(nodes=True)
CONFIGS = FactsSettings(device_plugin=DevicePluginSource(("gpu/configs",)))
EVERYTHING = FactsSettings(
    nodes=True,
    namespaces=True,
    runtime_classes=True,
    device_classes=True,
    device_plugin=DevicePluginSource(("gpu/configs",), "gpu/plugin"),
)


def filled(nodes: int) -> FakeCluster:
    cluster = FakeCluster()
    for number in range(nodes):
        cluster.put(NODES, f"n{number:04}", gpu_node())
    cluster.reads.clear()
    return cluster


async def test_nothing_is_read_unless_wanted() -> None:
    cluster = FakeCluster()
    assert await read_facts(cluster, FactsSettings()) == Facts()
    assert cluster.reads == []


async def test_empty_cluster_is_known_to_be_empty() -> None:
    found = await read_facts(FakeCluster(), EVERYTHING)
    assert found == Facts((), (), (), (), DevicePlugin(configs=()))


async def test_collection_is_read_in_pages() -> None:
    cluster = filled(600)
    facts = await read_facts(cluster, ONLY_NODES)
    assert facts.nodes is not None
    assert [node.name for node in facts.nodes] == [f"n{number:04}" for number in range(600)]
    assert cluster.reads == [f"{NODES}?limit=250", f"{NODES}?limit=250&continue=250", f"{NODES}?limit=250&continue=500"]


async def test_expired_page_restarts_list() -> None:
    cluster = filled(600)
    cluster.expiring[NODES] = 1
    facts = await read_facts(cluster, ONLY_NODES)
    assert len(facts.nodes or ()) == 600
    assert cluster.reads[:3] == [f"{NODES}?limit=250", f"{NODES}?limit=250&continue=250", f"{NODES}?limit=250"]
    assert len(cluster.reads) == 5


async def test_list_that_always_expires_fails() -> None:
    cluster = filled(600)
    cluster.expiring[NODES] = 1000
    with pytest.raises(ReadError, match=f"^nodes cannot be read: list of {NODES}: it expires before its last page"):
        await read_facts(cluster, ONLY_NODES)
    assert len(cluster.reads) == 6


async def test_huge_page_is_read_in_smaller_ones() -> None:
    cluster = filled(60)
    cluster.largest = 1500
    facts = await read_facts(cluster, ONLY_NODES)
    assert len(facts.nodes or ()) == 60
    assert cluster.reads[:3] == [f"{NODES}?limit=250", f"{NODES}?limit=62", f"{NODES}?limit=15"]


async def test_pages_grow_again_after_huge_ones() -> None:
    cluster = FakeCluster()
    for number in range(8):
        cluster.put(NODES, f"a{number}", {**gpu_node(), "images": ["x" * 1000]})
    for number in range(1000):
        cluster.put(NODES, f"b{number:04}", gpu_node())
    cluster.largest = 60_000
    facts = await read_facts(cluster, ONLY_NODES)
    assert len(facts.nodes or ()) == 1008
    assert len(cluster.reads) < 60


async def test_node_too_large_to_be_read_costs_itself_alone() -> None:
    cluster = filled(60)
    cluster.put(NODES, "huge", {**gpu_node(zone="a"), "images": ["x" * 2000]})
    cluster.largest = 1500
    said: list[str] = []

    def log(_level: str, _event: str, /, **fields: Any) -> None:
        said.append(fields["problem"])

    nodes = (await read_facts(cluster, ONLY_NODES, log=log)).nodes or ()
    assert len(nodes) == 61
    assert next(one for one in nodes if one.name == "huge") == Node(
        "huge", {"zone": "a"}, (), {}, incomplete=("taints", "resources")
    )
    assert said == ["node huge: too large to be read; its taints and resources are unknown"]


async def test_namespace_too_large_to_be_read_keeps_its_labels() -> None:
    cluster = FakeCluster()
    for name in ("a", "b", "c"):
        cluster.put(NAMESPACES, name, {"metadata": {"labels": {"team": name}}, "spec": "x" * (2000 * (name == "b"))})
    cluster.largest = 1500
    found = (await read_facts(cluster, FactsSettings(namespaces=True))).namespaces or ()
    assert [(one.name, one.labels) for one in found] == [(name, {"team": name}) for name in ("a", "b", "c")]


async def test_class_too_large_to_be_read_fails_the_list() -> None:
    """How its handler decides about pods would be unknown."""
    cluster = FakeCluster()
    cluster.put(RUNTIME_CLASSES, "nvidia", {"handler": "x" * 2000})
    cluster.largest = 1500
    with pytest.raises(ReadError, match=r"^runtime classes cannot be read: the answer is larger than 1500 bytes$"):
        await read_facts(cluster, FactsSettings(runtime_classes=True))


async def test_huge_metadata_fails() -> None:
    cluster = filled(2)
    cluster.put(NODES, "huge", gpu_node(label="x" * 2000))
    cluster.largest = 1500
    with pytest.raises(ReadError, match=r"^nodes cannot be read: the answer is larger than 1500 bytes$"):
        await read_facts(cluster, ONLY_NODES)


LISTED = [
    ("nodes", NODES, "nodes", '{apiGroups: [""], resources: [nodes], verbs: [list, watch]}'),
    ("namespaces", NAMESPACES, "namespaces", '{apiGroups: [""], resources: [namespaces], verbs: [list, watch]}'),
    (
        "runtime classes",
        RUNTIME_CLASSES,
        "runtimeclasses",
        '{apiGroups: ["node.k8s.io"], resources: [runtimeclasses], verbs: [list, watch]}',
    ),
    (
        "device classes",
        DEVICE_CLASSES,
        "deviceclasses",
        '{apiGroups: ["resource.k8s.io"], resources: [deviceclasses], verbs: [list, watch]}',
    ),
]
NAMED = [
    (
        "device plugin ConfigMaps (gpu/configs)",
        CONFIG_MAPS,
        "configmaps gpu/configs",
        '{apiGroups: [""], resources: [configmaps], resourceNames: [configs], verbs: [get, watch]}',
    ),
    (
        "device plugin DaemonSets (gpu/plugin)",
        DAEMON_SETS,
        "daemonsets gpu/plugin",
        '{apiGroups: ["apps"], resources: [daemonsets], resourceNames: [plugin], verbs: [get, watch]}',
    ),
]
READ = [
    *((subject, path, "list", what, f"a ClusterRole: {rule}") for subject, path, what, rule in LISTED),
    *((subject, path, "get", what, f"a Role in namespace gpu: {rule}") for subject, path, what, rule in NAMED),
]
RIGHTS = [*READ, *((subject, path, "watch", what, rule) for subject, path, _, what, rule in READ)]


@pytest.mark.parametrize(("subject", "path", "verb", "what", "rule"), RIGHTS)
async def test_forbidden_source_is_logged_once_with_missing_rule(
    subject: str, path: str, verb: str, what: str, rule: str
) -> None:
    cluster = FakeCluster()
    cluster.forbidden.add((verb, path))
    live = Live(cluster, EVERYTHING)
    await wait(3600)
    warnings = [(event, fields) for level, event, fields in live.logged if level == "warning"]
    failed = "watched" if verb == "watch" else "read"
    error = f"403: not allowed to {verb} {what}; add this rule to {rule}"
    assert [fields for event, fields in warnings if event == f"{subject} cannot be {failed}"] == [{"error": error}]
    assert len([event for event, _ in warnings if "cannot" in event]) == 1
    assert len(live.in_force) == (5 if verb == "watch" or path in (CONFIG_MAPS, DAEMON_SETS) else 4)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"<html>proxy</html>", b"[]", b"null", b"{}", b'{"metadata": {}}', b"\xff\xfe", b"[" * 100_000,
     b'{"metadata": {"resourceVersion": "1"}, "items": [{}]}',
     b'{"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "a", "labels": 1}}]}'],
)  # fmt: skip
@pytest.mark.parametrize("path", [NODES, NAMESPACES, RUNTIME_CLASSES, DEVICE_CLASSES, CONFIG_MAPS, DAEMON_SETS])
async def test_garbage_is_logged_and_retried(path: str, garbage: bytes) -> None:
    cluster = FakeCluster()
    cluster.garbage[path] = garbage
    live = Live(cluster, EVERYTHING)
    await wait(600)
    failed = {event: fields["error"] for level, event, fields in live.logged if "cannot be read" in event}
    # A class or a namespace without usable labels is one all the same.
    if b"labels" not in garbage or path in (NODES, NAMESPACES):
        (said,) = failed.values()
        assert "not an object of the API server" in said or "not a list of the API server" in said
        assert said.isprintable()
    cluster.garbage.clear()
    await wait(61)
    assert len(live.in_force) == 5


async def test_other_status_is_logged_with_words_of_server() -> None:
    cluster = FakeCluster()

    async def read(_path: str, _accept: str = JSON) -> tuple[int, bytes]:
        return 429, json.dumps({"message": "too many\nrequests" + "x" * 5000}).encode()

    cluster.read = read  # type: ignore[method-assign,assignment]
    with pytest.raises(ReadError) as error:
        await read_facts(cluster, ONLY_NODES)
    assert str(error.value).startswith(f"nodes cannot be read: list of {NODES}: 429 too many?requests")
    assert len(str(error.value)) < 400


async def test_device_classes_of_older_version_are_read() -> None:
    cluster = FakeCluster()
    older = DEVICE_CLASSES.replace("v1", "v1beta2")
    cluster.objects[older] = cluster.objects.pop(DEVICE_CLASSES)
    cluster.put(older, "gpu", {"spec": {"extendedResourceName": "nvidia.com/gpu"}})
    cluster.put(older, "other", {"spec": {}})
    live = Live(cluster, FactsSettings(device_classes=True))
    await wait(1)
    expected = (DeviceClass("gpu", "nvidia.com/gpu"), DeviceClass("other", ""))
    assert live.in_force == {"device_classes": expected}
    assert [path for path, _ in cluster.watched] == [older]


async def test_unserved_device_classes_are_known_to_be_empty_until_served() -> None:
    cluster = FakeCluster()
    del cluster.objects[DEVICE_CLASSES]
    live = Live(cluster, FactsSettings(device_classes=True, max_age=100.0))
    await wait(3600)
    assert live.in_force == {"device_classes": ()}
    assert (live.events("warning"), cluster.watched) == ([], [])
    assert len(cluster.reads) < 400, "three requests per minute"
    cluster.objects[DEVICE_CLASSES] = {}
    cluster.put(DEVICE_CLASSES, "gpu", {"spec": {"extendedResourceName": "nvidia.com/gpu"}})
    await wait(62)
    assert live.in_force == {"device_classes": (DeviceClass("gpu", "nvidia.com/gpu"),)}


def node(**status: dict[str, str]) -> dict[str, Any]:
    return {"status": status}


@pytest.mark.parametrize(
    ("found", "resources"),
    [
        (
            node(capacity={"cpu": "4", "amd.com/gpu": "4"}, allocatable={"cpu": "4", "amd.com/gpu": "4"}),
            {"amd.com/gpu": 4},
        ),
        (node(), {}),
        ({}, {}),
        (node(allocatable={"nvidia.com/gpu": "8", "rdma/hca": "2"}), {"nvidia.com/gpu": 8, "rdma/hca": 2}),
        (node(capacity={"nvidia.com/gpu": "8"}, allocatable={"nvidia.com/gpu": "0"}), {"nvidia.com/gpu": 0}),
        (node(capacity={"nvidia.com/gpu": "8"}), {"nvidia.com/gpu": 0}),
        (node(allocatable={"nvidia.com/gpu": "1k"}), {"nvidia.com/gpu": 1000}),
        (node(allocatable={"nvidia.com/gpu": "soon"}), {"nvidia.com/gpu": 0}),
        (node(allocatable={"nvidia.com/gpu": "-1"}), {"nvidia.com/gpu": 0}),
        (node(allocatable={"nvidia.com/mig-1g.5gb": "7", "cpu": "1"}), {"nvidia.com/mig-1g.5gb": 7}),
        (node(allocatable={"nvidia.com/pgpu": "2"}), {"nvidia.com/pgpu": 2}),
        (node(allocatable={"example.com/gpu": "3"}), {"example.com/gpu": 3}),
    ],
)
async def test_command_keeps_nodes_with_their_extended_resources(
    found: dict[str, Any], resources: dict[str, int]
) -> None:
    cluster = FakeCluster()
    cluster.put(NODES, "a", found)
    facts = await read_facts(cluster, ONLY_NODES, Decisive(resources=frozenset({"example.com/gpu"})))
    assert facts.nodes == (Node("a", {}, (), resources),)


async def test_command_keeps_few_nodes_without_gpus() -> None:
    cluster = FakeCluster()
    for number in range(MOST_OTHERS + 5):
        cluster.put(NODES, f"cpu-{number:03}", node())
    cluster.put(NODES, "new", {"metadata": {"labels": {"nvidia.com/gpu.present": "true"}}})
    facts = await read_facts(cluster, ONLY_NODES)
    assert facts.nodes is not None
    assert len(facts.nodes) == MOST_OTHERS + 1
    assert facts.nodes[-1].name == "new"


async def test_labels_and_sorted_taints_of_nodes_are_kept() -> None:
    cluster = FakeCluster()
    taints = [
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        {"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": "a", "effect": "Unheard"},
    ]
    cluster.put(NODES, "a", {**gpu_node(zone="z"), "spec": {"taints": taints}})
    (found,) = (await read_facts(cluster, ONLY_NODES)).nodes or ()
    assert found.taints == (Taint("a", "NoExecute", "b"), Taint("nvidia.com/gpu", "NoSchedule"))
    assert found.labels == {"zone": "z"}


async def test_equal_labels_of_nodes_share_memory() -> None:
    cluster = FakeCluster()
    for name in ("a", "b"):
        cluster.put(NODES, name, gpu_node(**{"nvidia.com/gpu.product": "Some-Product"}))
    one, other = (await read_facts(cluster, ONLY_NODES)).nodes or ()
    ((key, value),), ((same_key, same_value),) = one.labels.items(), other.labels.items()
    assert key is same_key
    assert value is same_value


async def test_namespace_keeps_pod_security_among_many_labels() -> None:
    cluster = FakeCluster()
    labels = {f"a{number}": "x" for number in range(1000)} | {"pod-security.kubernetes.io/enforce": "baseline"}
    cluster.put(NAMESPACES, "team", {"metadata": {"labels": labels}})
    (found,) = (await read_facts(cluster, FactsSettings(namespaces=True))).namespaces or ()
    assert found.labels["pod-security.kubernetes.io/enforce"] == "baseline"
    assert len(found.labels) == 65


async def test_runtime_class_without_scheduling() -> None:
    cluster = FakeCluster()
    cluster.put(RUNTIME_CLASSES, "runc", {"handler": "runc", "scheduling": None})
    facts = await read_facts(cluster, FactsSettings(runtime_classes=True))
    assert facts.runtime_classes == (RuntimeClass("runc", "runc"),)


@pytest.mark.parametrize("more", [0, 1])
async def test_first_labels_of_long_class_selector_are_kept(more: int) -> None:
    cluster = FakeCluster()
    selector = {f"k{number:05}": "v" for number in range(MOST_LABELS + more)}
    cluster.put(RUNTIME_CLASSES, "long", {"handler": "h", "scheduling": {"nodeSelector": selector}})
    (found,) = (await read_facts(cluster, FactsSettings(runtime_classes=True))).runtime_classes or ()
    assert found.node_selector == {f"k{number:05}": "v" for number in range(MOST_LABELS)}


class Said:
    """What was logged."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        assert (level, event, fields["source"]) == ("warning", "facts incomplete", "device-plugin")
        self.problems.append(fields["problem"])


TIME_SLICING = "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}"


async def test_rejected_configuration_is_unknown_and_logged() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "configs", {"data": {"default": "version: v2", "good": "version: v1"}})
    said = Said()
    plugin = (await read_facts(cluster, CONFIGS, log=said)).device_plugin
    assert plugin == DevicePlugin(configs=(PluginConfig("good"),), default_config="default")
    assert said.problems == ['ConfigMap gpu/configs, key default: version: must be v1, not "v2"']


async def test_config_maps_are_pooled_and_different_keys_unknown() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "configs", {"data": {"a": "version: v1", "same": "version: v1", "other": TIME_SLICING}})
    cluster.put(CONFIG_MAPS, "more", {"data": {"b": "version: v1", "same": "{}", "other": "version: v1"}})
    said = Said()
    wanted = FactsSettings(device_plugin=DevicePluginSource(("gpu/configs", "gpu/more"), version="v0.20.0"))
    plugin = (await read_facts(cluster, wanted, log=said)).device_plugin
    configs = (PluginConfig("a"), PluginConfig("b"), PluginConfig("same"))
    assert plugin == DevicePlugin(version="v0.20.0", configs=configs)
    assert said.problems == ["ConfigMap gpu/more, key other: differs from the key in ConfigMap gpu/configs"]


async def test_configurations_beyond_the_bound_are_unknown() -> None:
    cluster = FakeCluster()
    said = Said()
    texts = {f"c{number}": "" for number in range(MOST_CONFIGS)}
    cluster.put(CONFIG_MAPS, "configs", {"data": texts})
    plugin = (await read_facts(cluster, CONFIGS, log=said)).device_plugin
    assert plugin is not None
    assert len(plugin.configs or ()) == MOST_CONFIGS
    cluster.put(CONFIG_MAPS, "configs", {"data": texts | {"one-more": ""}})
    assert (await read_facts(cluster, CONFIGS, log=said)).device_plugin == DevicePlugin()
    assert said.problems == [f"ConfigMap gpu/configs: has more than {MOST_CONFIGS} configurations; all are unknown"]


async def test_version_alone_needs_no_request() -> None:
    cluster = FakeCluster()
    wanted = FactsSettings(device_plugin=DevicePluginSource(version="v0.20.0"))
    assert (await read_facts(cluster, wanted)).device_plugin == DevicePlugin(version="v0.20.0")
    live = Live(cluster, wanted)
    await wait(3600)
    assert live.in_force == {"device_plugin": DevicePlugin(version="v0.20.0")}
    assert live.source("device-plugin").age == 0
    assert (cluster.reads, cluster.watched) == ([], [])


async def test_missing_daemon_set_and_image_without_version_are_reported() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "configs", {"data": {"default": "version: v1"}})
    said = Said()
    plugin = (await read_facts(cluster, EVERYTHING, log=said)).device_plugin
    assert plugin == DevicePlugin(configs=(PluginConfig("default"),))
    containers = [{"name": "nvidia-device-plugin", "image": "k8s-device-plugin:latest"}]
    cluster.put(DAEMON_SETS, "plugin", {"spec": {"template": {"spec": {"containers": containers}}}})
    without_class = DevicePlugin(configs=(PluginConfig("default"),), runtime_class="")
    assert (await read_facts(cluster, EVERYTHING, log=said)).device_plugin == without_class
    assert said.problems == [
        "DaemonSet gpu/plugin does not exist",
        "DaemonSet gpu/plugin: its image shows no version; set facts.devicePlugin.version",
        "DaemonSet gpu/plugin: it has no config-manager that shows the default configuration",
    ]


async def test_daemon_set_without_configuration_shares_nothing() -> None:
    """As on EKS from the static manifest. A node without labels of GPU feature discovery has whole cards there."""
    cluster = FakeCluster()
    plugin = {"name": "nvidia-device-plugin-ctr", "image": "example.com/k8s-device-plugin:v0.17.4"}
    cluster.put(DAEMON_SETS, "plugin", {"spec": {"template": {"spec": {"containers": [plugin]}}}})
    wanted = FactsSettings(device_plugin=DevicePluginSource(daemon_set="gpu/plugin"))
    expected = DevicePlugin(version="v0.17.4", configs=(), default_config="", runtime_class="")
    assert (await read_facts(cluster, wanted)).device_plugin == expected
