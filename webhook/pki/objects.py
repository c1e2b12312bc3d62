"""The objects of an installation at the API server, read and written by name: its Secret and its two configurations."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from webhook.cluster.api_server import ApiServer, Object
from webhook.pki import authorities
from webhook.pki.authorities import Authorities, decoded
from webhook.pki.bundle import Bundle
from webhook.pki.installation import Installation
from webhook.policy.messages import printable

# The fields of API objects that certificates depend on. Something else may answer in place of the API server, such as a
# proxy with an error page in JSON. So each object is checked once, when it arrives, and the rest of this package relies
# on its shape.

Shape = TypeVar("Shape", bound=msgspec.Struct)


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _SecretShape(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


class _ClientConfig(msgspec.Struct, rename="camel"):
    ca_bundle: str | None = None


class _Webhook(msgspec.Struct, rename="camel"):
    name: str
    client_config: _ClientConfig


class _ConfigurationShape(msgspec.Struct):
    metadata: _Metadata
    webhooks: list[_Webhook] | None = None


class _Identity(msgspec.Struct):
    name: str
    uid: str


class _OwnerShape(msgspec.Struct):
    metadata: _Identity


def _shaped(found: Object, shape: type[Shape], path: str) -> Shape:
    """The object as this shape. Raises ConnectionError, which quotes no value: a Secret may be among them."""
    try:
        return msgspec.convert(found, shape)
    except msgspec.ValidationError as error:
        raise ConnectionError(f"GET {path}: not an object of the API server: {error}") from None


class ApiStatusError(Exception):
    """The API server returned an error. The message holds the request, the status and the server's message."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class ConflictError(Exception):
    """Another client changed the object first, or the patch is invalid: the API server returns the same for both."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a configuration, with its `caBundle` as PEM."""

    name: str
    bundle: bytes


@dataclass(frozen=True, slots=True)
class HookConfiguration:
    """What one webhook configuration held at one `resourceVersion`."""

    path: str
    resource_version: str
    entries: tuple[Entry, ...]

    @classmethod
    def parse(cls, path: str, found: Object) -> HookConfiguration:
        """Parse the configuration at this path, as the API server returned it. Raises ConnectionError."""
        read = _shaped(found, _ConfigurationShape, path)
        entries = tuple(Entry(one.name, decoded(one.client_config.ca_bundle)) for one in read.webhooks or ())
        return cls(path, read.metadata.resource_version, entries)

    def operations(self, bundle: bytes) -> list[Object]:
        """Return the JSON patch that writes the bundle into every entry that has another one; empty if there is none.

        The patch fails if the object has changed meanwhile, because an index may then mean another entry. Server-side
        apply needs no index, but it would make the webhook an owner of the entries, and a later apply that drops one
        would fail.
        """
        text = base64.b64encode(bundle).decode()
        edits = [
            operation
            for index, entry in enumerate(self.entries)
            if entry.bundle != bundle
            for operation in (
                {"op": "test", "path": f"/webhooks/{index}/name", "value": entry.name},
                {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": text},
            )
        ]
        unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": self.resource_version}
        return [unchanged, *edits] if edits else []


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
    def parse(cls, secret: Object | None, configurations: Sequence[HookConfiguration]) -> ClusterState:
        """Parse a Secret as the API server returned it, and the bundles of these configurations."""
        pems = dict.fromkeys(entry.bundle for found in configurations for entry in found.entries)
        return cls(secret, tuple(configurations), authorities.read(secret or {}), tuple(map(Bundle.parse, pems)))


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
        parsed = []
        for collection in self._installation.configurations:
            path = f"{collection}/{self._installation.name}"
            if (found := await self._find(path)) is not None:
                parsed.append(HookConfiguration.parse(path, found))
        # The Secret stays as it is, since it is written with everything that others keep in it.
        secret = await self._find(self._path)
        if secret is not None:
            _shaped(secret, _SecretShape, self._path)
            self._metadata = secret["metadata"]
        return ClusterState.parse(secret, parsed)

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
        patches = {found.path: found.operations(bundle) for found in state.configurations}
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
        owner = _shaped(await self._call("GET", path), _OwnerShape, path).metadata
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

    async def _find(self, path: str) -> Object | None:
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
