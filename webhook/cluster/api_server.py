"""The API server as its users see it: requests, watches, metadata and rights, without the library that sends them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw, Struct

Object = dict[str, Any]
"""A decoded JSON object, such as a Kubernetes object."""

OBJECTS: Final = msgspec.json.Decoder(Object)

UNDECODABLE: Final = (msgspec.DecodeError, RecursionError, ValueError)
"""What decoding raises for an object that is not of its kind."""

JSON: Final = "application/json"
METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""The media type of a list that has the metadata of its objects alone (kubernetes apimachinery pkg/apis/meta/v1
`PartialObjectMetadataList`)."""


class WatchEvent(Struct, frozen=True):
    """One event of a watch (metav1.WatchEvent). The object stays as it was received until its reader decodes it."""

    type: str
    object: Raw


class ResponseTooLargeError(ConnectionError):
    """A response exceeds the size limit of the client."""


class StatusError(ConnectionError):
    """The API server refused a request with this HTTP status. The message names both."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiServer(Protocol):
    """One API server. `webhook.cluster.client.Client` is the implementation; importing it takes half a second."""

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        """Return the HTTP status and the decoded object of a response, whatever the status.

        The body of a PATCH is a JSON patch. Raises OSError if there is no response.
        """

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
        """Return the HTTP status and the body of the response to a GET, whatever the status.

        `accept` is the media type to ask for. Raises ResponseTooLargeError, or another OSError if there is no response.
        """

    def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        """Yield the events of one watch until the server ends it. Raises StatusError, or another OSError."""


class Metadata(Struct, rename="camel"):
    """The metadata of an object, as far as it is read."""

    name: str
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Identified(Struct):
    """An object of which the metadata alone is read."""

    metadata: Metadata


IDENTIFIED: Final = msgspec.json.Decoder(Identified)


class ConfigMap(Identified):
    """A ConfigMap and its texts."""

    data: dict[str, str] | None = None


CONFIG_MAPS: Final = msgspec.json.Decoder(ConfigMap)
