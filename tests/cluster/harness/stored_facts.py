"""Facts of a facts file as the objects of a cluster from which they are read."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.rights import PLUGIN, PLUGIN_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.api import Api, Object

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
        yield "/api/v1/namespaces", {"metadata": {"name": one["name"], "labels": one.get("labels", {})}}


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
