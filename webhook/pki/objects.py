"""The objects of an installation at the API server, read and written by name: its Secret and its two configurations."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator
from typing import NamedTuple, TypeVar

import msgspec

from webhook.cluster.api_server import ApiServer, Object, StatusError
from webhook.cluster.objects import DEPLOYMENT, MUTATING, SECRET, VALIDATING
from webhook.pki import authorities
from webhook.pki.authorities import Authorities, decoded
from webhook.policy.messages import printable


class Installation(NamedTuple):
    """An installation, after which its objects are named. `extra_hosts` are for webhooks that are called by URL."""

    namespace: str
    name: str
    extra_hosts: tuple[str, ...] = ()

    @property
    def secret(self) -> str:
        """The name of the Secret that holds the authorities."""
        return f"{self.name}-ca"

    @property
    def secrets(self) -> str:
        """The path of the collection that holds the Secret."""
        return SECRET.path(self.namespace)

    @property
    def deployment(self) -> str:
        """The path of the Deployment, which owns the Secret."""
        return DEPLOYMENT.path(self.namespace, self.name)

    @property
    def configurations(self) -> tuple[str, str]:
        """The paths of the collections of webhook configurations. Each has one with the name of the installation."""
        return MUTATING.path(), VALIDATING.path()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of serving certificates. The first is the name that the API server expects."""
        service = f"{self.name}.{self.namespace}"
        return (f"{service}.svc", service, self.name, *self.extra_hosts)


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


def _shaped(response: Object, shape: type[Shape], path: str) -> Shape:
    """The object as this shape. Raises ConnectionError, which quotes no value: a Secret may be among them."""
    try:
        return msgspec.convert(response, shape)
    except msgspec.ValidationError as error:
        raise ConnectionError(f"GET {path}: not an object of the API server: {error}") from None


class ConflictError(Exception):
    """Another client changed the object first, or the patch is invalid: the API server returns the same for both."""


class Entry(NamedTuple):
    """One webhook of a configuration, with its `caBundle` as PEM."""

    name: str
    bundle: bytes


class HookConfiguration(NamedTuple):
    """What one webhook configuration held at one `resourceVersion`."""

    path: str
    resource_version: str
    entries: tuple[Entry, ...]

    @classmethod
    def parse(cls, path: str, response: Object) -> HookConfiguration:
        """Parse the configuration at this path, as the API server returned it. Raises ConnectionError."""
        read = _shaped(response, _ConfigurationShape, path)
        entries = tuple(Entry(hook.name, decoded(hook.client_config.ca_bundle)) for hook in read.webhooks or ())
        return cls(path, read.metadata.resource_version, entries)

    def operations(self, bundle: bytes) -> list[Object]:
        """Return the JSON patch that writes the bundle into every entry that has another one; empty if there is none.

        The patch fails if the object has changed meanwhile, because an index may then mean another entry. Server-side
        apply needs no index, but it would make the webhook an owner of the entries, and a later apply that drops one
        would fail.
        """
        text = base64.b64encode(bundle).decode()
        edits: list[Object] = []
        for index, entry in enumerate(self.entries):
            if entry.bundle != bundle:
                edits += [
                    {"op": "test", "path": f"/webhooks/{index}/name", "value": entry.name},
                    {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": text},
                ]
        unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": self.resource_version}
        return [unchanged, *edits] if edits else []


class ClusterState(NamedTuple):
    """The Secret, or None if there is none, the authorities that it holds, and the webhook configurations."""

    secret: Object | None
    authorities: Authorities
    configurations: tuple[HookConfiguration, ...]


class Objects:
    """Reads and writes the objects of one installation.

    All methods raise OSError if there is no response, and StatusError, one of these, for an error. Those that write
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
            if (response := await self._find(path)) is not None:
                parsed.append(HookConfiguration.parse(path, response))
        # The Secret stays as it is, since it is written with everything that others keep in it.
        secret = await self._find(self._path)
        if secret is not None:
            _shaped(secret, _SecretShape, self._path)
            self._metadata = secret["metadata"]
        return ClusterState(secret, authorities.read(secret or {}), tuple(parsed))

    async def store(self, state: ClusterState, wanted: Authorities) -> None:
        """Write the Secret unless it has changed since it was read."""
        if state.secret is not None:
            await self._call("PUT", self._path, authorities.write(wanted, state.secret))
            return
        # The Deployment owns the new Secret: it goes with the release, and is not created without it.
        installation, before = self._installation, self._metadata
        owner = _shaped(await self._call("GET", installation.deployment), _OwnerShape, installation.deployment).metadata
        metadata = {
            "name": installation.secret,
            "namespace": installation.namespace,
            "labels": before.get("labels") or {},
            "annotations": before.get("annotations") or {},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.name, "uid": owner.uid}],
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata}
        await self._call("POST", installation.secrets, authorities.write(wanted, secret))

    async def publish(self, state: ClusterState, bundle: bytes) -> AsyncGenerator[str, None]:
        """Write the bundle into every entry that has another one, unless its configuration has changed meanwhile.

        Yields the path of each configuration as soon as it is written, so that a later failure hides no write. The
        validating one is first: the guard leaves pods that `/mutate` has seen to `/validate`.
        """
        for configuration in reversed(state.configurations):
            if patch := configuration.operations(bundle):
                await self._call("PATCH", configuration.path, patch)
                yield configuration.path

    async def _find(self, path: str) -> Object | None:
        try:
            return await self._call("GET", path)
        except StatusError as error:
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
            raise StatusError(status, message)
        return answer
