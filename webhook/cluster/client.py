"""The client of the API server: requests through aiohttp, with the configuration that the library kubernetes loads.

Importing this module takes half a second, so only what talks to a cluster imports it.

The requests go by aiohttp itself: the typed APIs of the library cost 30 MiB and a second, its `CustomObjectsApi` cannot
reach `/api/v1`, and its `watch.Watch` wants a typed API and reconnects without a wait.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from webhook import __version__
from webhook.cluster.api_server import (
    JSON,
    OBJECTS,
    UNDECODABLE,
    Object,
    ResponseTooLargeError,
    StatusError,
    WatchEvent,
)
from webhook.cluster.kubeconfig import REMEDY, KubeconfigError, location, verify
from webhook.policy.messages import printable
from webhook.runtime.retry import next_turn

# `kubernetes/__init__.py` imports the synchronous client, with requests, oauthlib and websocket: 232 modules, 7 MiB and
# a tenth of the time of a live command. So an empty package with the same path takes its place.
if "kubernetes" not in sys.modules and (_found := find_spec("kubernetes")) is not None:
    _bare = ModuleSpec("kubernetes", None, is_package=True)
    _bare.submodule_search_locations = _found.submodule_search_locations
    sys.modules["kubernetes"] = module_from_spec(_bare)

from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

_CONNECT = 5.0
"""Seconds until a connection must stand."""

_WATCH = 240
"""Seconds after which the server ends a watch, so that a dead connection does not stay unnoticed."""

_PRECISION = timedelta(seconds=5)
"""The Date header has whole seconds and arrives late, so a smaller difference does not show that the clocks differ."""


class ClusterError(Exception):
    """There is no cluster to connect to. The message says why, and what to do."""


_SLICE = 16 * 1024
"""Bytes of a watch that are handled in one go, in about a millisecond: one large event, or 150 small ones."""

_EVENTS = msgspec.json.Decoder(WatchEvent)

_LEAVES_TLS_OPEN = sys.version_info < (3, 12, 8) or (3, 13, 0) <= sys.version_info < (3, 13, 1)
"""Python keeps a TLS connection open that only one side has closed, such as after a canceled request
(https://github.com/python/cpython/pull/118960)."""


class Client:
    """A connection to one API server, an `ApiServer`. Requests without a response raise ConnectionError."""

    seconds = 10.0
    """How long a response may take."""

    size = 16 * 2**20
    """Bytes of a response, and of one line of a watch.

    etcd stores no object larger than 1.5 MiB, of which each `<` takes six bytes of the API server's JSON.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._proxy = configuration.proxy or _proxy(configuration.host)
        self._connector = aiohttp.TCPConnector(
            ssl=RESTClientObject(configuration).ssl_context, enable_cleanup_closed=_LEAVES_TLS_OPEN
        )
        # Not `trust_env`, with which aiohttp reads ~/.netrc too: kubectl does not, and a `default` entry there would
        # take the place of the token. `_proxy` reads the variables of proxies instead.
        self._session = aiohttp.ClientSession(
            connector=self._connector, headers={"User-Agent": f"gpushare-webhook/{__version__}"}
        )
        self.skew = timedelta()
        """How far the server's clock is ahead of this machine's."""

    def now(self) -> datetime:
        """The time of the API server's clock, which decides whether certificates are valid, as far as it is known."""
        return datetime.now(UTC) + self.skew

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        response, text = await self._answer(method, path, body)
        with suppress(*UNDECODABLE):
            return response.status, OBJECTS.decode(text)
        # Such as a proxy's page.
        raise ConnectionError(f"{method} {path}: {_status(response)}, not an object of the API server")

    async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
        response, text = await self._answer("GET", path, accept=accept)
        return response.status, text

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[WatchEvent, None]:
        asked = urlencode({"watch": "true", "timeoutSeconds": str(_WATCH), **query})
        response = await self._send("GET", f"{path}?{asked}", None, _WATCH + 10)
        if response.status != 200:
            _abort(response)
            raise StatusError(response.status, f"watch of {path}: {_status(response)}")
        try:
            async with aclosing(_lines(response, self.size)) as lines:
                async for line in lines:
                    yield _EVENTS.decode(line)
        except UNDECODABLE:
            raise ConnectionError(f"watch of {path}: not an event of the API server") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionError(f"watch of {path}: {_why(error)}") from None
        finally:
            _abort(response)

    async def close(self) -> None:
        await self._connector.close(abort_ssl=True)
        await self._session.close()

    async def _answer(
        self, method: str, path: str, body: Any = None, accept: str = JSON
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """A response with its body. Raises ResponseTooLargeError."""
        response, size = await self._send(method, path, body, self.seconds, accept), self.size
        try:
            await response.content.readexactly(size + 1)
        except asyncio.IncompleteReadError as end:
            self._set_clock(response.headers)
            return response, end.partial
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionError(f"{method} {path}: {_why(error)}") from None
        finally:
            response.release()
        raise ResponseTooLargeError(f"{method} {path}: the answer is larger than {size} bytes")

    async def _send(
        self, method: str, path: str, body: Any, seconds: float, accept: str = JSON
    ) -> aiohttp.ClientResponse:
        """Send a request, without following a redirect.

        An API server passes on the `Location` that a pod or a Service answers through its proxy, with which a tenant
        would choose where this machine sends a request (apimachinery pkg/util/proxy/transport.go).
        """
        configuration = self._configuration
        content = "application/json-patch+json" if method == "PATCH" else JSON
        headers = {"Accept": accept, "Content-Type": content}
        try:
            # This calls `refresh_api_key_hook`, which reads the token of the service account.
            token = await configuration.get_api_key_with_prefix("BearerToken")
            response = await self._session.request(
                method,
                f"{configuration.host}{path}",
                headers=headers | ({"Authorization": token} if token else {}),
                json=body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT),
                proxy=self._proxy,
                server_hostname=configuration.tls_server_name,
            )
        except (aiohttp.ClientError, OSError, ValueError, ConfigException) as error:
            raise ConnectionError(f"{method} {path}: {_why(error)}") from None
        if 300 <= response.status < 400:
            response.close()
            target = printable(response.headers.get("Location", "nowhere"))
            raise ConnectionError(f"{method} {path}: {response.status} redirects to {target}, which is not followed")
        return response

    def _set_clock(self, headers: Mapping[str, str]) -> None:
        try:
            ahead = parsedate_to_datetime(headers["Date"]) - datetime.now(UTC)
        except (KeyError, ValueError, OverflowError, TypeError):  # TypeError: a time without a zone
            return
        self.skew = ahead if abs(ahead) > _PRECISION else timedelta()


def _proxy(address: str) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY choose for an address, as for kubectl; None without one.

    kubectl takes a network in NO_PROXY, and uses no proxy for this machine (golang.org/x/net/http/httpproxy).
    """
    found, proxies = urlsplit(address), getproxies()
    host = found.hostname or "localhost"
    is_direct = host == "localhost" or bool(proxy_bypass(host))
    with suppress(ValueError):  # a name is no address
        own = ip_address(host)
        networks = (one.strip() for one in proxies.get("no", "").split(",") if "/" in one)
        is_direct = is_direct or own.is_loopback or any(own in ip_network(one, strict=False) for one in networks)
    return None if is_direct else proxies.get(found.scheme)


async def connect(kubeconfig: str | None = None, context: str | None = None) -> Client:
    """Connect to the cluster that this process runs in, or else to that of a kubeconfig. Raises ClusterError."""
    inside = kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
    where, remedy = "the files of the service account", "check that the pod's service account token is mounted"
    if not inside:
        where, remedy = kubeconfig or location(), REMEDY
    configuration = Configuration()
    try:
        if inside:
            _load_service_account(configuration)
            configuration.refresh_api_key_hook = _load_service_account  # type: ignore[assignment]
        else:
            verify(where, context)
            await load_kube_config(where, context, configuration)  # type: ignore[no-untyped-call]
        return Client(configuration)
    except KubeconfigError as error:
        raise ClusterError(f"cannot connect: {error}") from None
    except Exception as error:  # the library raises whatever a wrong file leads to
        raise ClusterError(f"cannot connect: {where}: {_why(error)}; {remedy}") from None


def _load_service_account(configuration: Configuration) -> None:
    """Load the address of the API server and the token, which the kubelet renews.

    The library's own hook reads the token once per minute of the system clock. After that clock is set back, it would
    keep an expired token for as long, so this one reads the token for each request.
    """
    load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]


async def _lines(response: aiohttp.ClientResponse, size: int) -> AsyncGenerator[bytes, None]:
    """The lines of a streamed response, with room for the other tasks of the loop after each slice of them.

    Raises ConnectionError if a line is too large.
    """
    rest = bytearray()
    async for chunk in response.content.iter_chunked(_SLICE):
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield bytes(line)
        if len(rest) > size:
            raise ConnectionError(f"a line is larger than {size} bytes")
        await next_turn()


def _status(response: aiohttp.ClientResponse) -> str:
    return f"{response.status} {printable(response.reason or '')}".rstrip()


def _abort(response: aiohttp.ClientResponse) -> None:
    """Close the connection of a watch without closing TLS, for which the event loop would have to keep running."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = isinstance(error.os_error, ConnectionRefusedError)
        reason = "connection refused" if refused else error.os_error.strerror or str(error.os_error)
        return printable(f"no connection to {error.host}:{error.port}: {reason}")
    return printable(" ".join(str(error).split())) or type(error).__name__
