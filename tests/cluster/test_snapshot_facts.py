"""The facts of fixtures in a live cluster: a snapshot gives them back, and the webhook follows them."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.run import run
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.rights import PLUGIN, PLUGIN_NAMESPACE, create_account
from tests.cluster.harness.selection import covering, parameters
from tests.cluster.harness.waiting import wait_for
from tests.contract.offline import DIFFER, check, path_of, review_of
from tests.fixture import Fixture, load_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Api, Object


HEAD = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings"}
PARTS = ("nodes", "runtimeClasses", "deviceClasses", "devicePlugin", "namespaces")
SOURCE = {"configMaps": [f"{PLUGIN_NAMESPACE}/{PLUGIN}"], "daemonSet": f"{PLUGIN_NAMESPACE}/{PLUGIN}"}


def _applies(fixture: Fixture) -> bool:
    """Whether a cluster can have the facts of a fixture, and the command line can check what its hook is asked.

    The option of a device plugin without configurations stands for what a person knows.
    """
    facts = fixture.facts or {}
    has_configs = facts.get("devicePlugin") is None or facts["devicePlugin"].get("configs") is not None
    # No object of a cluster is larger than the bounds here: tests/facts/test_hostile_nodes.py has such nodes.
    is_complete = not any(node.get("incomplete") for node in facts.get("nodes") or ())
    is_asked = fixture.operation == "CREATE" and fixture.hook in ("offline", "mutate") and fixture.name not in DIFFER
    return is_asked and is_complete and has_configs and any(facts.get(part) is not None for part in PARTS)


def _settings(fixture: Fixture) -> Object:
    facts = fixture.facts or {}
    wanted: Object = {part: True for part in PARTS if facts.get(part) is not None}
    if "devicePlugin" in wanted:
        has_configs = bool(facts["devicePlugin"]["configs"])
        wanted["devicePlugin"] = SOURCE if has_configs else {"daemonSet": SOURCE["daemonSet"]}
    return HEAD | (fixture.settings or {}) | {"facts": wanted}


def _key(fixture: Fixture) -> str:
    return json.dumps(_settings(fixture), sort_keys=True)


def _groups() -> Iterator[tuple[Fixture, ...]]:
    """Up to four fixtures with the same settings, and the facts that these switch on."""
    for _, group in groupby(sorted(filter(_applies, load_all()), key=_key), key=_key):
        while some := tuple(islice(group, 4)):
            yield some


GROUPS = list(_groups())


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    options = ControlPlaneOptions(
        feature_gates={"DRAExtendedResource": True},
        api_server_flags=("--disable-admission-plugins=TaintNodesByCondition",),
    )
    # On loopback, where the command line of this process reaches the API server.
    with control_plane(options, place=Loopback) as started:
        for name in ("controller-manager", "scheduler"):
            started.control.processes[name].stop()  # they would change the nodes' taints
        yield started


@pytest.fixture(scope="module")
def kubeconfig(running: ControlPlaneOnly) -> Path:
    return create_account(running)


def _snapshot(kubeconfig: Path, settings: Path) -> Object:
    wanted = json.loads(settings.read_text())["facts"]
    without = [f"--without={part}" for part in PARTS if part not in wanted]
    ended = run("snapshot", "--kubeconfig", kubeconfig, "--config", settings, "-o", "json", *without)
    assert ended.code == 0, ended.err
    facts: Object = ended.json()
    return facts


def _shows(fixtures: tuple[Fixture, ...]) -> set[tuple[str, str]]:
    """The parts of the facts, each with the check or the injection that reads it."""
    return {(part, one.folder) for one in fixtures for part in PARTS if (one.facts or {}).get(part) is not None}


@pytest.mark.parametrize("fixtures", parameters(GROUPS, covering(GROUPS, _shows), lambda fixtures: fixtures[0].name))
def test_facts_of_fixtures_reach_offline_check_and_live_webhook(
    running: ControlPlaneOnly, kubeconfig: Path, fixtures: tuple[Fixture, ...], tmp_path: Path
) -> None:
    settings = _settings(fixtures[0])
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings))
    with ExitStack() as stack:
        server: Reviewer | None = None
        for fixture in fixtures:
            with stored_facts(running.api, fixture.facts or {}):
                server = server or stack.enter_context(reviewer(running, settings, kubeconfig))
                _compare(server, fixture, settings, _snapshot(kubeconfig, file), tmp_path)


def _compare(server: Reviewer, fixture: Fixture, settings: Object, facts: Object, folder: Path) -> None:
    """The verdicts with the fixture's own facts, with the snapshot, and of the webhook once it follows the facts."""
    path = path_of(fixture)
    own = check(folder, fixture.object, fixture.namespace, settings, _sorted_taints(fixture.facts or {}))
    offline = check(folder, fixture.object, fixture.namespace, settings, facts)
    assert offline == own, fixture.name
    expected = offline if fixture.is_pod else offline.without_patch()
    asked = review_of(fixture)
    wait_for(fixture.name, lambda: server.answer(asked, path).without("GPS019") == expected, every=0.05)


def _sorted_taints(facts: Object) -> Object:
    """The facts with the taints of nodes in the order of a snapshot: messages name the first."""
    nodes = [
        {
            **node,
            "taints": sorted(node.get("taints", ()), key=lambda one: (one["key"], one["effect"], one.get("value", ""))),
        }
        for node in facts.get("nodes") or ()
    ]
    return {**facts, "nodes": nodes} if nodes else facts


_NODES = "/api/v1/nodes"
_CONFIG_MAPS = f"/api/v1/namespaces/{PLUGIN_NAMESPACE}/configmaps"
_DAEMON_SETS = f"/apis/apps/v1/namespaces/{PLUGIN_NAMESPACE}/daemonsets"
_BLOCKS = {"mps": "mps", "time-slicing": "timeSlicing"}


@contextmanager
def stored_facts(api: Api, facts: Object) -> Iterator[None]:
    """Create the objects; delete them at the end. No controller may run, or it would change taints of nodes."""
    with ExitStack() as stack:
        for part, store in _STORES.items():
            if facts.get(part) is not None:
                for path, body in store(facts[part]):
                    api.create(path, body)
                    stack.callback(_delete, api, f"{path}/{body['metadata']['name']}")
        yield


def _delete(api: Api, path: str) -> None:
    """Delete an object; a namespace waits for its controller's finalizer, which no controller removes here."""
    left = api.delete(path)
    if left["kind"] == "Namespace":
        api.call("PUT", f"{path}/finalize", left | {"spec": {"finalizers": []}})


def _namespaces(namespaces: list[Object]) -> Iterator[tuple[str, Object]]:
    for one in namespaces:
        selector = ",".join(f"{key}={value}" for key, value in one.get("nodeSelector", {}).items())
        annotations = {"scheduler.alpha.kubernetes.io/node-selector": selector} if selector else {}
        metadata = {"name": one["name"], "labels": one.get("labels", {}), "annotations": annotations}
        yield "/api/v1/namespaces", {"metadata": metadata}


def _nodes(nodes: list[Object]) -> Iterator[tuple[str, Object]]:
    for node in nodes:
        room = {name: str(units) for name, units in node.get("resources", {}).items()}
        yield (
            _NODES,
            {
                "metadata": {"name": node["name"], "labels": node.get("labels", {})},
                "spec": {"taints": node.get("taints", [])},
                "status": {"capacity": room, "allocatable": room},
            },
        )


def _runtime_classes(classes: list[Object]) -> Iterator[tuple[str, Object]]:
    for one in classes:
        scheduling = {"scheduling": {"nodeSelector": one["nodeSelector"]}} if one.get("nodeSelector") else {}
        body = {"metadata": {"name": one["name"]}, "handler": one.get("handler") or one["name"], **scheduling}
        yield "/apis/node.k8s.io/v1/runtimeclasses", body


def _device_classes(classes: list[Object]) -> Iterator[tuple[str, Object]]:
    for one in classes:
        name = {"extendedResourceName": one["extendedResourceName"]} if one.get("extendedResourceName") else {}
        yield "/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": one["name"]}, "spec": name}


def _device_plugin(plugin: Object) -> Iterator[tuple[str, Object]]:
    """The ConfigMap if there are configurations, and a DaemonSet whose pods run nowhere."""
    if plugin["configs"]:
        data = {config["name"]: json.dumps(_config(config)) for config in plugin["configs"]}
        yield _CONFIG_MAPS, {"metadata": {"name": PLUGIN}, "data": data}
    labels, version = {"app": PLUGIN}, plugin.get("version")
    image = f"nvidia/k8s-device-plugin:{version}" if version else "nvidia/k8s-device-plugin"
    spec: Any = {"nodeSelector": {"none": "none"}, "containers": [{"name": "nvidia-device-plugin-ctr", "image": image}]}
    if plugin["configs"] and plugin.get("defaultConfig") is not None:
        name = plugin["defaultConfig"]
        rule = ("DEFAULT_CONFIG", name) if name else ("FALLBACK_STRATEGIES", "empty")
        default = [dict(zip(("name", "value"), rule, strict=True))]
        spec["initContainers"] = [{"name": "init", "image": "none", "command": ["config-manager"], "env": default}]
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"metadata": {"name": PLUGIN}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    yield _DAEMON_SETS, body


def _config(config: Object) -> Object:
    if config.get("strategy", "none") == "none":
        return {"version": "v1"}
    fails = config.get("failRequestsGreaterThanOne")
    option = {} if fails is None else {"failRequestsGreaterThanOne": fails}
    names = [one["name"] for one in config["resources"]]
    renamed = any(name.endswith(".shared") for name in names)
    resources = [{**one, "name": one["name"].removesuffix(".shared")} for one in config["resources"]]
    sharing = {"renameByDefault": renamed, "resources": resources, **option}
    return {"version": "v1", "sharing": {_BLOCKS[config["strategy"]]: sharing}}


_STORES: dict[str, Callable[[Any], Iterator[tuple[str, Object]]]] = {
    "namespaces": _namespaces,
    "nodes": _nodes,
    "runtimeClasses": _runtime_classes,
    "deviceClasses": _device_classes,
    "devicePlugin": _device_plugin,
}
