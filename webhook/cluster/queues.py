"""The namespaces with a default queue of Kueue.

Kueue's webhook puts a Job that names no queue into the LocalQueue `default` of its namespace. A running webhook does
not read these queues, since the objects that it sees name theirs; a command that checks manifests does.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

from webhook.cluster.api_server import UNDECODABLE, ApiServer, Rule
from webhook.cluster.objects import Kind
from webhook.cluster.readers import Collection
from webhook.cluster.watch import ReadError

_GROUP: Final = "kueue.x-k8s.io"
_RULE: Final = Rule(_GROUP, "localqueues", ("list",))
_DEFAULT: Final = "default"


class _Metadata(Struct):
    name: str
    namespace: str


class _LocalQueue(Struct):
    metadata: _Metadata


class _Version(Struct):
    version: str


class _ApiGroup(Struct):
    preferredVersion: _Version  # noqa: N815 - the API's own name


_API_GROUP: Final = msgspec.json.Decoder(_ApiGroup)
_LOCAL_QUEUES: Final = msgspec.json.Decoder(_LocalQueue)


async def default_queues(api: ApiServer) -> tuple[str, ...] | None:
    """Return the namespaces in order; None where the cluster has no Kueue. Raises ReadError and OSError.

    On a cluster without Kueue, a user needs no right to list its queues: the API group, of which every user may ask, is
    missing there.
    """
    status, body = await api.read(f"/apis/{_GROUP}")
    if status == 404:  # The body is text there, no object.
        return None
    if status != 200:
        raise ReadError(f"GET /apis/{_GROUP}: {status}")
    try:
        version = _API_GROUP.decode(body).preferredVersion.version
    except UNDECODABLE as error:
        raise ReadError(f"GET /apis/{_GROUP}: not an object of the API server: {error}") from None
    queues = Collection(api, (Kind("localqueue", "localqueues", _GROUP, version).path(),), _namespace, _RULE)
    return tuple(sorted((await queues.start()).objects))


def _namespace(found: Raw) -> tuple[str, str | None]:
    """Read the namespace of a LocalQueue; None for a queue with another name. Raises msgspec.MsgspecError."""
    metadata = _LOCAL_QUEUES.decode(found).metadata
    return metadata.namespace, metadata.namespace if metadata.name == _DEFAULT else None
