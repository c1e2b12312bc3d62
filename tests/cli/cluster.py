"""A STAND-IN for a cluster: HTTPS on loopback with the objects of a small mixed cluster, and a kubeconfig for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import yaml
from aiohttp import web

from tests.facts.server import standing_in
from webhook.cluster.api_server import METADATA

Object = dict[str, Any]

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
PLUGIN = "/api/v1/namespaces/gpu/configmaps/device-plugin"
SETTINGS = "/api/v1/namespaces/mps/configmaps/webhook"
INSTALLED_AS = "mps/webhook"

TOKEN = "s3cret-token"  # noqa: S105 - what a snapshot must not hold
PERSONAL = ("jane.doe", "10.1.2.3", "registry.example.com/private", "cost-centre", TOKEN)
"""Texts of the objects that no snapshot holds."""

MPS_10 = """\
version: v1
sharing:
  mps:
    resources:
    - {name: nvidia.com/gpu, replicas: 10}
"""


def node(name: str, units: int, taints: list[Object], labels: dict[str, str]) -> Object:
    """A node with GPUs, and with everything else that a node has."""
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": str(units)}
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {"owner": "jane.doe"}},
        "spec": {"taints": taints, "providerID": "cost-centre"},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
            "images": [{"names": ["registry.example.com/private"]}],
        },
    }


def named(name: str, **rest: Any) -> Object:
    """An object with an annotation."""
    return {"metadata": {"name": name, "annotations": {"owner": "jane.doe"}, "labels": {}}, **rest}


def namespace(name: str, **labels: str) -> Object:
    """A namespace with a label that no setting names."""
    return {
        "metadata": {"name": name, "labels": {"contact": "jane.doe", **labels}, "annotations": {"a": "cost-centre"}}
    }


@dataclass
class FakeCluster:
    """The cluster. By path, `lists` holds collections, `objects` single objects, `texts` text, `refused` statuses.

    `before` is awaited before the request for a path is answered. `asked` has the paths of all requests, and `raw`
    these paths as they were sent. `expiring` counts, by path, the later pages that find their version gone.
    """

    lists: dict[str, list[Object]] = field(default_factory=dict)
    objects: dict[str, Object] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    before: dict[str, Callable[[web.Request], Awaitable[None]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    expiring: Counter[str] = field(default_factory=Counter)
    raw: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.asked.append(request.path)
        self.raw.append(request.raw_path.partition("?")[0])
        if request.path in self.before:
            await self.before[request.path](request)
        if request.path in self.refused:
            status = self.refused[request.path]
            return web.json_response({"kind": "Status", "message": f"refused: {status}"}, status=status)
        if request.path == "/version":
            return web.json_response({"major": "1", "minor": "34"})
        if request.path in self.lists:
            return self._page(request)
        if request.path in self.objects:
            return web.json_response(self.objects[request.path])
        if request.path in self.texts:
            return web.Response(text=self.texts[request.path])
        if request.path.count("/") == 2:  # an API group: the API server answers with text, and no object
            return web.Response(text="404 page not found\n", status=404)
        return web.json_response({"kind": "Status", "message": "not found"}, status=404)

    def _page(self, request: web.Request) -> web.Response:
        """A page of a list, or only the metadata of its objects. A token is the place of the next object."""
        start, most = int(request.query.get("continue", 0)), int(request.query["limit"])
        if start and self.expiring[request.path]:
            self.expiring[request.path] -= 1
            status = {"kind": "Status", "message": "too old", "metadata": {"continue": str(start)}}
            return web.json_response(status, status=410)
        found = [one for one in self.lists[request.path] if _is_selected(one, request.query)]
        items, rest = found[start : start + most], {"continue": str(start + most)} if start + most < len(found) else {}
        if request.headers["Accept"] == METADATA:
            items = [{"kind": "PartialObjectMetadata", "metadata": one["metadata"]} for one in items]
        return web.json_response({"metadata": {"resourceVersion": "7", **rest}, "items": items})


def _is_selected(found: Object, query: Mapping[str, str]) -> bool:
    """Whether an object has the fields and the labels that a request asks for."""
    for each in filter(None, query.get("fieldSelector", "").split(",")):
        key, _, value = each.partition("=")
        at: Any = found
        for name in key.removesuffix("!").split("."):
            at = (at or {}).get(name)
        if ((at or "") == value) is key.endswith("!"):
            return False
    labels = found["metadata"].get("labels") or {}
    wanted = (each.partition("=") for each in filter(None, query.get("labelSelector", "").split(",")))
    return all(labels.get(key) == value for key, _, value in wanted)


def mixed() -> FakeCluster:
    """A cluster with an MPS node, a node with whole cards, and the webhook."""
    mps = {"nvidia.com/mps.capable": "true", "nvidia.com/gpu.replicas": "10", "nvidia.com/gfd.timestamp": "1790000000"}
    return FakeCluster(
        lists={
            NODES: [
                node("whole-1", 4, [{"key": "team", "value": "ml", "effect": "NoSchedule"}], {"pool": "whole"}),
                node("mps-1", 10, [], {**mps, "revision": "12e4"}),
                {"metadata": {"name": "cpu-1"}, "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}},
            ],
            NAMESPACES: [
                namespace("team-b", **{"pod-security.kubernetes.io/enforce": "baseline"}),
                namespace("team-a", **{"example.com/gpu": "audit"}),
            ],
            RUNTIME_CLASSES: [named("nvidia", handler="nvidia"), named("kata", handler="kata-qemu")],
            DEVICE_CLASSES: [named("gpu.nvidia.com", spec={"extendedResourceName": "nvidia.com/gpu"})],
        },
        objects={
            PLUGIN: {"metadata": {"name": "device-plugin"}, "data": {"mps-10": MPS_10}},
            SETTINGS: {
                "metadata": {"name": "webhook"},
                "data": {
                    "settings.yaml": "facts:\n  nodes: true\n  namespaces: true\n  devicePlugin: gpu/device-plugin\n"
                    "namespaces:\n- selector:\n    matchLabels:\n      example.com/gpu: audit\n  mode: audit\n"
                },
            },
        },
    )


@contextmanager
def running(cluster: FakeCluster, folder: Path) -> Iterator[Path]:
    """Serve a cluster in a thread, and yield a kubeconfig with the context `prod`."""
    place = folder / "api"
    place.mkdir()
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    serving = standing_in(place, cluster.answer)
    try:
        server = asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(_PATIENCE)
        file = place / "kubeconfig"
        file.write_text(yaml.safe_dump(kubeconfig(f"https://127.0.0.1:{server.port}", str(server.authority))))
        yield file
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(_PATIENCE)
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result(_PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PATIENCE)
        loop.close()


async def _cancel_others() -> None:
    """End requests that are still being answered."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_PATIENCE = 20


def kubeconfig(server: str, authority: str) -> Object:
    """The content of a kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "admin"}}],
        "clusters": [{"name": "prod", "cluster": {"server": server, "certificate-authority": authority}}]
        if authority
        else [{"name": "prod", "cluster": {"server": server}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
    }
