"""The API server as its users see it: requests and watches, without the library that sends them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol

Object = dict[str, Any]
"""A decoded JSON object, such as a Kubernetes object."""


class ApiServer(Protocol):
    """One API server. `webhook.cluster.client.Client` is the implementation; importing it takes half a second."""

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        """Return the HTTP status and the decoded object of a response, whatever the status.

        The body of a PATCH is a JSON patch. Raises OSError if there is no response.
        """

    def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Object, None]:
        """Yield the events of one watch (metav1.WatchEvent) until the server ends it. Raises OSError."""
