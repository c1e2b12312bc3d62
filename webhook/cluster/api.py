"""The API server, by raw requests over `kubernetes.aio`'s client: its typed APIs would cost 30 MiB and a second.

Importing this module takes half a second, so it is imported where a cluster is talked to and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException, incluster_config, load_incluster_config, load_kube_config
from kubernetes.aio.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION

from webhook import __version__
from webhook.policy.printable import printable

Object = dict[str, Any]

_ANSWER = aiohttp.ClientTimeout(total=10, sock_connect=5)

_WATCH = 240
"""Seconds after which the server is asked to end a watch, so that a dead connection is noticed at last."""

_LARGEST = 8 * 2**20
"""Bytes of an answer, and of a line of a watch: etcd stores no object of more than 1.5 MiB."""

_EXACT = timedelta(seconds=5)
"""The server tells its time in whole seconds, and late; a smaller difference tells nothing."""


_REMEDIES = {
    True: "see that the pod's service account token is mounted",
    False: "give a kubeconfig that kubectl takes, with --kubeconfig or KUBECONFIG",
}
"""What to do where there is no way to the cluster, inside of it and outside."""


class ClusterError(Exception):
    """There is no way to a cluster. The message says why."""


class Api:
    """One API server. Where it gives no answer, calls raise ConnectionError."""

    def __init__(self, configuration: Configuration) -> None:
        self._client = ApiClient(configuration)
        self._client.user_agent = f"gpushare-webhook/{__version__}"
        self.skew = timedelta()
        """How far the server's clock is ahead of this machine's."""

    def now(self) -> datetime:
        """The time by the clock of the API server, as far as it is known: certificates are judged by that one."""
        return datetime.now(UTC) + self.skew

    async def request(self, method: str, path: str, body: Object | list[Object] | None = None) -> tuple[int, Object]:
        """The status and the object of an answer, whatever it says. The body of a PATCH is a JSON patch."""
        content = "application/json-patch+json" if method == "PATCH" else "application/json"
        response = await self._send(method, path, content, body, _ANSWER)
        try:
            text = await _read(response)
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionError(f"{method} {path}: {_why(error)}") from None
        finally:
            response.release()
        self._set_clock(response.headers)
        answer = _parsed(text)
        if not isinstance(answer, dict):
            raise ConnectionError(f"{method} {path}: {_status(response)}, not an object of the API server")
        return response.status, answer

    async def watch(self, path: str, name: str) -> AsyncGenerator[Object, None]:
        """What is there, and then every change, of one object in a collection, until the server ends the watch."""
        async with aclosing(self.events(path, {"fieldSelector": f"metadata.name={name}"})) as events:
            async for event in events:
                if event["type"] == "ERROR":
                    return
                yield event

    async def events(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[Object, None]:
        """The events of one watch of a collection, until the server ends it."""
        asked = urlencode({"watch": "true", "timeoutSeconds": str(_WATCH), **query})
        limits = aiohttp.ClientTimeout(total=_WATCH + 10, sock_connect=5)
        response = await self._send("GET", f"{path}?{asked}", "application/json", None, limits)
        try:
            if response.status != 200:
                raise ConnectionError(_status(response))
            async with aclosing(_lines(response)) as lines:
                async for line in lines:
                    event = _parsed(line)
                    if not _is_event(event):
                        raise ConnectionError("not an event of the API server")
                    yield event
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionError(f"watch of {path}: {_why(error)}") from None
        finally:
            _hang_up(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _send(
        self, method: str, path: str, content: str, body: Any, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": content}
        try:
            # The token of a service account is read anew here.
            prepared = await self._client.param_serialize(
                method, path, header_params=headers, body=body, auth_settings=["BearerToken"]
            )
            method, url, headers, body, _ = prepared
            sent = await self._client.call_api(method, url, headers, body, _request_timeout=limits)
        except (aiohttp.ClientError, OSError, ValueError, ConfigException) as error:
            raise ConnectionError(f"{method} {path}: {_why(error)}") from None
        response: aiohttp.ClientResponse = sent.response
        return response

    def _set_clock(self, headers: Mapping[str, str]) -> None:
        try:
            ahead = parsedate_to_datetime(headers["Date"]) - datetime.now(UTC)
        except (KeyError, ValueError, OverflowError, TypeError):  # the last, of a time without a zone
            return
        self.skew = ahead if abs(ahead) > _EXACT else timedelta()


async def connect(kubeconfig: str | None = None, context: str | None = None) -> Api:
    """The API server: of the cluster that this process runs in, else of a kubeconfig. Raises ClusterError."""
    inside = kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
    configuration = Configuration()
    try:
        if inside:
            load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]
            configuration.refresh_api_key_hook = _read_token  # type: ignore[assignment]
        else:
            await load_kube_config(kubeconfig, context, configuration)  # type: ignore[no-untyped-call]
        return Api(configuration)
    except Exception as error:  # the client lets through whatever a wrong file leads to
        where = "the files of the service account" if inside else kubeconfig or KUBE_CONFIG_DEFAULT_LOCATION
        raise ClusterError(f"no cluster: {where}: {_why(error)}; {_REMEDIES[inside]}") from None


def _read_token(configuration: Configuration) -> None:
    """Take over the token that the kubelet keeps fresh: at each request, for whoever waits goes by a clock."""
    configuration.api_key["BearerToken"] = f"bearer {Path(incluster_config.SERVICE_TOKEN_FILENAME).read_text()}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer. Raises ConnectionError where it is too large."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST:
            raise ConnectionError(f"the answer is larger than {_LARGEST} bytes")
    return bytes(body)


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The lines of a streamed answer. Raises ConnectionError where one is too large."""
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                yield bytes(line)
        if len(rest) > _LARGEST:
            raise ConnectionError(f"a line is larger than {_LARGEST} bytes")


def _parsed(text: bytes) -> Any:
    """What is in an answer; None where it is no JSON, such as a proxy's page, or nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_event(event: Any) -> bool:
    """Whether this is an event of a watch (metav1.WatchEvent): a type and an object."""
    return isinstance(event, dict) and isinstance(event.get("type"), str) and isinstance(event.get("object"), dict)


def _status(response: aiohttp.ClientResponse) -> str:
    return f"{response.status} {printable(response.reason or '')}".rstrip()


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Leave a watch without the farewells of TLS, which would outlive whoever left."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _why(error: Exception) -> str:
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "no answer in time"
    return printable(" ".join(str(error).split())) or type(error).__name__
