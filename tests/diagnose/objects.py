"""A STAND-IN for the objects of an API server: pages of objects by path."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from webhook.cluster.objects import Kind, LeftOut, Object, Objects


class StoredObjects(Objects):
    """Objects by the path of their list in all namespaces. `forbidden` names plurals that no user may list."""

    def __init__(self, objects: Mapping[str, Iterable[Object]], forbidden: Iterable[str] = (), page: int = 2) -> None:
        self._objects = {path: list(found) for path, found in objects.items()}
        self._forbidden = frozenset(forbidden)
        self._page = page
        self.left_out: list[LeftOut] = []

    async def pages(self, kind: Kind, namespace: str | None = None, **query: str) -> AsyncGenerator[list[Object], None]:
        if kind.plural in self._forbidden:
            self.left_out.append(LeftOut(kind.plural, "403"))
            return
        found = [
            one
            for one in self._objects.get(kind.path(), ())
            if (namespace is None or one["metadata"].get("namespace") == namespace) and selected(one, query)
        ]
        for start in range(0, len(found), self._page):
            yield found[start : start + self._page]

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        found = (one["metadata"] for one in self._objects.get(kind.path(), ()))
        return next((one for one in found if (one.get("namespace"), one["name"]) == (namespace, name)), None)

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:  # noqa: ARG002 - as above
        return self.lacks(kind)

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:  # noqa: ARG002 - the signature of Objects
        return kind.plural in self._forbidden

    def has_all(self, kind: Kind) -> bool:
        return not self.lacks(kind)


def selected(found: Object, query: Mapping[str, str]) -> bool:
    """Whether an object has the labels of a selector such as `a=b,c=d`."""
    labels = found["metadata"].get("labels") or {}
    pairs = (one.partition("=") for one in query.get("labelSelector", "").split(",") if one)
    return all(labels.get(key) == value for key, _, value in pairs)


def metadata(name: str, namespace: str = "team-a", owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """The metadata of an object. `owner` is the API version, the kind and the name of its controller."""
    references = (
        []
        if owner is None
        else [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": "u", "controller": True}]
    )
    return {"name": name, "namespace": namespace, "uid": "u", "ownerReferences": references, **rest}


def spec(gpus: int = 1, name: str = "train", **rest: Any) -> Object:
    """The spec of a pod with a container that asks for replicas; 0 for none."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {"containers": [{"name": name, "image": "i", "resources": resources}], **rest}


def pod(name: str, gpus: int = 1, owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """A pod that runs."""
    namespace = rest.pop("namespace", "team-a")
    node = rest.pop("node", "gpu-1")
    status = {"phase": rest.pop("phase", "Running"), "podIP": "10.0.0.1"}
    return {
        "metadata": metadata(name, namespace, owner, **rest.pop("metadata", {})),
        "spec": {**spec(gpus, **rest), **({"nodeName": node} if node else {})},
        "status": status,
    }


def workload(name: str, gpus: int = 1, owner: tuple[str, str, str] | None = None, **rest: Any) -> Object:
    """An object with the template of a pod at `spec.template`."""
    namespace = rest.pop("namespace", "team-a")
    template = {"metadata": {"labels": {"app": name}}, "spec": spec(gpus, **rest)}
    return {"metadata": metadata(name, namespace, owner), "spec": {"replicas": 1, "template": template}}
