"""Custom kinds in an API server that has their published definitions, but none of their controllers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.cluster.harness.waiting import wait_for
from tests.crds.published import definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True, slots=True)
class Answer:
    """The API server's answer: its status, the message of an error, and its warnings."""

    status: int
    message: str
    warnings: list[str]

    @property
    def denials(self) -> list[str]:
        """The findings for which the webhook rejected the request; empty if the API server accepted it."""
        lines = self.message.partition("denied the request: ")[2].splitlines()
        return [line for line in lines if line.startswith("GPS")]


@dataclass(frozen=True, slots=True)
class CustomKinds:
    """A control plane with definitions. `specs` has the `spec` of each by API group and kind."""

    running: ControlPlaneOnly
    specs: Mapping[tuple[str, str], Object]

    def create(self, manifest: Object, *, dry: bool = False) -> Answer:
        """Create an object, all of whose fields its definition has to know; `dry` stores nothing."""
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry else "")
        return self._send("POST", self.collection(manifest) + query, manifest)

    def change(self, manifest: Object, patch: Object | list[Object], subresource: str = "") -> Answer:
        """Apply a merge patch, or the operations of a JSON patch, to the stored object of this name."""
        content = "json-patch+json" if isinstance(patch, list) else "merge-patch+json"
        return self._send("PATCH", f"{self.path(manifest)}{subresource}", patch, content)

    def delete(self, manifest: Object) -> Answer:
        """Delete the stored object of this name."""
        return self._send("DELETE", self.path(manifest))

    def path(self, manifest: Object) -> str:
        """The path of the stored object of this name."""
        return f"{self.collection(manifest)}/{manifest['metadata']['name']}"

    def collection(self, manifest: Object) -> str:
        """The path of the collection for an object, in the namespace `default` unless its kind is cluster-scoped."""
        group, version, spec = self._of(manifest)
        below = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
        return f"/apis/{group}/{version}/{below}{spec['names']['plural']}"

    def subresources(self, manifest: Object) -> set[str]:
        """The subresources of an object: `status`, `scale`."""
        _, name, spec = self._of(manifest)
        (version,) = [one for one in spec["versions"] if one["name"] == name]
        return set(version.get("subresources", {}))

    def _of(self, manifest: Object) -> tuple[str, str, Object]:
        group, _, version = manifest["apiVersion"].partition("/")
        return group, version, self.specs[group, manifest["kind"]]

    def _send(self, method: str, path: str, body: Object | list[Object] | None = None, content: str = "json") -> Answer:
        api = self.running.api
        with closing(api.connection()) as connection:
            connection.request(method, path, json.dumps(body), api.headers(content))
            response = connection.getresponse()
            said = json.loads(response.read())
            warnings = response.headers.get_all("Warning", [])
        return Answer(response.status, str(said.get("message", "")), [_text(header) for header in warnings])


def _text(header: str) -> str:
    """The text of a warning, which the header quotes after a code and an agent (RFC 7234, section 5.5)."""
    return header.partition('"')[2].removesuffix('"').replace('\\"', '"')


def install(running: ControlPlaneOnly, kinds: Iterable[tuple[str, str]]) -> CustomKinds:
    """Create the definitions of kinds, given by group and kind, and wait until the API server serves them.

    Webhooks that convert between versions are left out: the projects' controllers serve them. A definition that two
    projects publish gets the versions of both. Raises `ToolsMissingError` where the definitions cannot be downloaded.
    """
    wanted = set(kinds)
    specs: dict[tuple[str, str], Object] = {}
    manifests: list[Object] = []
    for definition in definitions():
        name = definition.group, definition.kind
        if name in specs:
            later = definition.installable["spec"]["versions"]
            specs[name]["versions"] = [*specs[name]["versions"], *({**one, "storage": False} for one in later)]
        elif name in wanted:
            manifests.append(definition.installable)
            specs[name] = manifests[-1]["spec"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(running.api.create, _DEFINITIONS), manifests))
    for (group, _), spec in specs.items():
        for version in spec["versions"]:
            if version["served"]:
                path = f"/apis/{group}/{version['name']}/{spec['names']['plural']}"
                wait_for(f"{path} to be served", partial(_is_served, running.api, path), seconds=120)
    return CustomKinds(running, specs)


@contextmanager
def open_kind(api: Api, api_version: str, kind: str, namespace: str) -> Iterator[str]:
    """A kind whose objects may have any content; yields the path of its objects in a Kubernetes namespace."""
    group, _, version = api_version.partition("/")
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    path = f"/apis/{group}/{version}/namespaces/{namespace}/{plural}"
    with api.created(_DEFINITIONS, {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}):
        wait_for("the kind to be served", lambda: _is_served(api, path))
        yield path
    wait_for("the kind to be gone", lambda: not _is_served(api, path))


def _is_served(api: Api, path: str) -> bool:
    return api.request("GET", path)[0] == 200
