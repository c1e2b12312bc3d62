"""The objects of an installation at the API server: its Secret and its two configurations, read and written by name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from webhook.pki import authorities, configuration, shapes
from webhook.pki.authorities import Authorities
from webhook.pki.configuration import Configuration
from webhook.pki.installation import Installation
from webhook.policy.printable import printable

Object = dict[str, Any]


class Api(Protocol):
    """What is needed of an API server: raw requests."""

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        """The status and the object of an answer, whatever it says. The body of a PATCH is a JSON patch.

        Raises OSError where there is no answer.
        """

    def watch(self, path: str, name: str) -> AsyncIterator[object]:
        """Something for each change of one object in a collection, until the server ends it. Raises OSError."""


class RefusedError(Exception):
    """The API server said no."""

    def __init__(self, status: int, told: str) -> None:
        self.status = status
        super().__init__(told)


class ConflictError(Exception):
    """Somebody else changed the object first; or so it seems, for a patch that is wrong gets the same answer."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What was there at one moment. `secret` is None where there is no Secret."""

    secret: Object | None
    configurations: tuple[Configuration, ...]

    @property
    def authorities(self) -> Authorities:
        """What the Secret holds."""
        return authorities.read(self.secret or {})

    @property
    def bundles(self) -> tuple[bytes, ...]:
        """The `caBundle`s of all entries, each once."""
        return tuple(dict.fromkeys(entry.bundle for found in self.configurations for entry in found.entries))


class Objects:
    """Reads and writes the objects of one installation.

    All calls raise OSError where there is no answer and RefusedError where the answer is no; writes raise ConflictError
    where the object is not as it was seen.
    """

    def __init__(self, installation: Installation, api: Api) -> None:
        self._installation = installation
        self._api = api
        self._path = f"{installation.secrets}/{installation.secret}"
        self._metadata: Object = {}

    async def look(self) -> ClusterState:
        """All three. The Secret is read last: so it is no older than what was published from it."""
        found = [await self._configuration(collection) for collection in self._installation.configurations]
        secret = await self._find(self._path, shapes.Secret)
        self._metadata = self._metadata if secret is None else secret["metadata"]
        return ClusterState(secret, tuple(one for one in found if one is not None))

    async def store(self, sight: ClusterState, wanted: Authorities) -> None:
        """Write the Secret, unless it changed since it was seen."""
        if sight.secret is None:
            await self._call("POST", self._installation.secrets, authorities.write(wanted, await self._blank()))
        else:
            await self._call("PUT", self._path, authorities.write(wanted, sight.secret))

    async def publish(self, sight: ClusterState, bundle: bytes) -> AsyncGenerator[str, None]:
        """Write the bundle into every entry with another one, unless the configuration changed since it was seen.

        Yields each configuration as soon as it is written, so that a later failure hides no write. Tries all of them,
        then raises the first error.
        """
        patches = {found.path: configuration.operations(found, bundle) for found in sight.configurations}
        wrong: list[Exception] = []
        for path, patch in patches.items():
            if not patch:
                continue
            try:
                await self._call("PATCH", path, patch)
            except (OSError, RefusedError, ConflictError) as error:
                wrong.append(error)
            else:
                yield path
        if wrong:
            raise wrong[0]

    async def _blank(self) -> Object:
        """A Secret without data. It goes with the Deployment; where that is gone, none is to be left behind."""
        deployment = self._installation.deployment
        owner = shapes.check(await self._call("GET", deployment), shapes.Owner, deployment)
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", **_named(owner)}
        before = self._metadata
        metadata = {
            "name": self._installation.secret,
            "namespace": self._installation.namespace,
            "labels": before.get("labels") or {},
            "annotations": before.get("annotations") or {},
            "ownerReferences": [reference],
        }
        return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata}

    async def _configuration(self, collection: str) -> Configuration | None:
        path = f"{collection}/{self._installation.name}"
        found = await self._find(path, shapes.Configuration)
        return None if found is None else configuration.read(path, found)

    async def _find(self, path: str, shape: type[Struct]) -> Object | None:
        try:
            return shapes.check(await self._call("GET", path), shape, path)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise

    async def _call(self, method: str, path: str, body: Object | list[Object] | None = None) -> Object:
        status, answer = await self._api.request(method, path, body)
        # A JSON patch whose test fails is answered with 422.
        if status == 409 or (status == 422 and method == "PATCH"):
            raise ConflictError(_told(status, method, path, answer))
        if not 200 <= status < 300:
            raise RefusedError(status, _told(status, method, path, answer))
        return answer


def _told(status: int, method: str, path: str, answer: Object) -> str:
    return f"{method} {path}: {status} {printable(answer.get('message', ''))}".rstrip()


def _named(owner: Object) -> Object:
    metadata = owner["metadata"]
    return {"name": metadata["name"], "uid": metadata["uid"]}
