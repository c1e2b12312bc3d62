"""The objects of an installation at the API server, read and written by name: its Secret and its two configurations."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass

from webhook.cluster.api_server import ApiServer, Object
from webhook.pki import authorities, hook_configuration, shapes
from webhook.pki.authorities import Authorities
from webhook.pki.bundle import Bundle
from webhook.pki.hook_configuration import HookConfiguration
from webhook.pki.installation import Installation
from webhook.policy.messages import printable


class ApiStatusError(Exception):
    """The API server returned an error. The message holds the request, the status and the server's message."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class ConflictError(Exception):
    """Another client changed the object first, or the patch is invalid: the API server returns the same for both."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What one round found, parsed once.

    `secret` is None if there is no Secret. `authorities` are what it holds. `bundles` are the `caBundle`s of all
    entries of the configurations, each once.
    """

    secret: Object | None
    configurations: tuple[HookConfiguration, ...]
    authorities: Authorities
    bundles: tuple[Bundle, ...]

    @classmethod
    def parse(cls, secret: Object | None, configurations: Iterable[HookConfiguration]) -> ClusterState:
        """Parse a Secret as the API server returned it, and the bundles of these configurations."""
        found = tuple(configurations)
        pems = dict.fromkeys(entry.bundle for configuration in found for entry in configuration.entries)
        return cls(secret, found, authorities.read(secret or {}), tuple(map(Bundle.parse, pems)))


class Objects:
    """Reads and writes the objects of one installation.

    All methods raise OSError if there is no response and ApiStatusError if the response is an error. Those that write
    raise ConflictError if the object is no longer as it was read.
    """

    def __init__(self, installation: Installation, api: ApiServer) -> None:
        self._installation = installation
        self._api = api
        self._path = f"{installation.secrets}/{installation.secret}"
        self._metadata: Object = {}

    async def read(self) -> ClusterState:
        """Read all three. The Secret is read last, so that it is no older than what was published from it."""
        found = [await self._configuration(collection) for collection in self._installation.configurations]
        secret = await self._secret()
        self._metadata = self._metadata if secret is None else secret["metadata"]
        return ClusterState.parse(secret, (one for one in found if one is not None))

    async def store(self, state: ClusterState, wanted: Authorities) -> None:
        """Write the Secret unless it has changed since it was read."""
        if state.secret is None:
            await self._call("POST", self._installation.secrets, authorities.write(wanted, await self._blank()))
        else:
            await self._call("PUT", self._path, authorities.write(wanted, state.secret))

    async def publish(self, state: ClusterState, bundle: bytes) -> AsyncGenerator[str, None]:
        """Write the bundle into every entry that has another one, unless its configuration has changed meanwhile.

        Yields the path of each configuration as soon as it is written, so that a later failure hides no write. Tries
        all of them, then raises the first error.
        """
        patches = {found.path: hook_configuration.operations(found, bundle) for found in state.configurations}
        errors: list[Exception] = []
        for path, patch in patches.items():
            if not patch:
                continue
            try:
                await self._call("PATCH", path, patch)
            except (OSError, ApiStatusError, ConflictError) as error:
                errors.append(error)
            else:
                yield path
        if errors:
            raise errors[0]

    async def _blank(self) -> Object:
        """A Secret without data, owned by the Deployment: it goes with the release, and is not created without it."""
        path = self._installation.deployment
        owner = shapes.check(await self._call("GET", path), shapes.OwnerShape, path).metadata
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.name, "uid": owner.uid}
        before = self._metadata
        metadata = {
            "name": self._installation.secret,
            "namespace": self._installation.namespace,
            "labels": before.get("labels") or {},
            "annotations": before.get("annotations") or {},
            "ownerReferences": [reference],
        }
        return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata}

    async def _configuration(self, collection: str) -> HookConfiguration | None:
        path = f"{collection}/{self._installation.name}"
        found = await self._find(path)
        if found is None:
            return None
        return hook_configuration.read(path, shapes.check(found, shapes.HookConfigurationShape, path))

    async def _secret(self) -> Object | None:
        """The Secret as it is, since it is written with everything that others keep in it."""
        found = await self._find(self._path)
        if found is not None:
            shapes.check(found, shapes.SecretShape, self._path)
        return found

    async def _find(self, path: str) -> Object | None:
        """The object at this path; None if there is none."""
        try:
            return await self._call("GET", path)
        except ApiStatusError as error:
            if error.status == 404:
                return None
            raise

    async def _call(self, method: str, path: str, body: Object | list[Object] | None = None) -> Object:
        status, answer = await self._api.request(method, path, body)
        message = f"{method} {path}: {status} {printable(answer.get('message', ''))}".rstrip()
        # A JSON patch whose test fails returns 422.
        if status == 409 or (status == 422 and method == "PATCH"):
            raise ConflictError(message)
        if not 200 <= status < 300:
            raise ApiStatusError(status, message)
        return answer
