"""The API server as this project talks to it, over real HTTPS; a stand-in misbehaves as the real one rarely does."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import socket
import ssl
import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration

from tests.facts.server import Answer, StandIn, standing_in
from webhook import __version__
from webhook.cluster.api_server import ResponseTooLargeError, StatusError
from webhook.cluster.client import Client, ClusterError, connect
from webhook.pki import Authority

PATIENCE = 20
USUAL: dict[str, float] = {}
SMALL = {"size": 2**20}
NAMED = {"fieldSelector": "metadata.name=guard"}
GONE = b'{"type": "DELETED", "object": {}}\n'

pytestmark = pytest.mark.usefixtures("cluster")


@asynccontextmanager
async def connected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, limits: Mapping[str, float] = USUAL
) -> AsyncIterator[tuple[Client, StandIn]]:
    """A connection from within the cluster to a stand-in with these answers."""
    async with asyncio.timeout(PATIENCE), standing_in(folder, answer) as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        for name, limit in limits.items():
            monkeypatch.setattr(Client, name, limit)
        api = await connect()
        try:
            yield api, server
        finally:
            await api.close()


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    """Always the same answer."""

    async def answer(_: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return answer


def streams(*chunks: bytes, then: Callable[[], Awaitable[object]] | None = None) -> Answer:
    """A watch that sends these bytes as they are."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then is not None:
            await then()
        return response

    return answer


async def test_request_carries_token_user_agent_and_body(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({"kind": "Secret"}, 201)) as (api, server):
        assert await api.request("POST", "/api/v1/x", {"a": [1, None]}) == (201, {"kind": "Secret"})
        (request,) = server.requests
        assert (request.method, request.path) == ("POST", "/api/v1/x")
        assert request.headers["Authorization"] == "bearer first"
        assert request.headers["User-Agent"] == f"gpushare-webhook/{__version__}"
        assert json.loads(server.bodies[0]) == {"a": [1, None]}


async def test_patch_content_type_is_json_patch(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = [{"op": "test", "path": "/a", "value": "b"}]
    async with connected(cluster, monkeypatch, says({"code": 422}, 422)) as (api, server):
        assert await api.request("PATCH", "/x", patch) == (422, {"code": 422})
        assert server.requests[0].headers["Content-Type"] == "application/json-patch+json"
        assert json.loads(server.bodies[0]) == patch


async def test_renewed_token_is_used_at_once(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({})) as (api, server):
        await api.request("GET", "/x")
        (cluster / "token").write_text("second")
        await api.request("GET", "/x")
        assert [request.headers["Authorization"] for request in server.requests] == ["bearer first", "bearer second"]


@pytest.mark.parametrize(
    ("body", "status", "says_why"),
    [
        ("<html>", 502, "502 Bad Gateway, not an object"),
        ("slow down", 429, "429 Too Many Requests, not an object"),
        ("[" * 200_000, 200, "200 OK, not an object"),
        ('{"a": ', 200, "200 OK, not an object"),
        ("[1]", 200, "200 OK, not an object"),
    ],
)
async def test_response_without_object_is_connection_error(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, body: str, status: int, says_why: str
) -> None:
    async with connected(cluster, monkeypatch, says(body, status)) as (api, _):
        with pytest.raises(ConnectionError, match=f"^GET /x: {says_why} of the API server$"):
            await api.request("GET", "/x")


async def test_truncated_response_is_connection_error(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"a":')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with connected(cluster, monkeypatch, answer) as (api, _):
        with pytest.raises(ConnectionError, match="GET /x: "):
            await api.request("GET", "/x")


ASK: dict[str, Callable[[Client], Awaitable[object]]] = {
    "request": lambda api: api.request("GET", "/x"),
    "read": lambda api: api.read("/x"),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
async def test_request_timeout_is_connection_error(
    cluster: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Client], Awaitable[object]]
) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with connected(cluster, monkeypatch, answer, {"seconds": 0.2}) as (api, _):
        with pytest.raises(ConnectionError, match=r"^GET /x: no answer in time$"):
            await ask(api)


async def test_unreachable_server_is_connection_error(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({})) as (api, _):
        pass
    async with standing_in(cluster, says({})) as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    api = await connect()
    try:
        with pytest.raises(ConnectionError, match=r"^GET /x: no connection to 127\.0\.0\.1:.*: connection refused$"):
            await api.request("GET", "/x")
        with pytest.raises(ConnectionError, match=r"GET /x\?watch=true&.*: no connection to "):
            await anext(aiter(api.events("/x", NAMED)))
    finally:
        await api.close()


async def test_untrusted_server_certificate_is_connection_error(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = cluster / "other"
    other.mkdir()
    async with standing_in(other, says({})) as server, connected(cluster, monkeypatch, says({})):
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
        api = await connect()
        try:
            with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
                await api.request("GET", "/x")
        finally:
            await api.close()


async def test_missing_token_is_connection_error(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({})) as (api, _):
        (cluster / "token").unlink()
        with pytest.raises(ConnectionError, match=r"^GET /x: Service token file does not exist"):
            await api.request("GET", "/x")


async def test_events_are_decoded_across_chunks(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = (b'{"type": "ADDED", "object": {}}\n{"ty', b'pe": "MODI', b'FIED", "object": {}}\n', GONE)
    async with connected(cluster, monkeypatch, streams(*chunks)) as (api, server):
        found = [event.type async for event in api.events("/apis/x", NAMED)]
        assert found == ["ADDED", "MODIFIED", "DELETED"]
        (request,) = server.requests
        assert request.path == "/apis/x"
        assert dict(request.query) == {
            "watch": "true",
            "timeoutSeconds": "240",
            "fieldSelector": "metadata.name=guard",
        }


async def test_burst_of_events_lets_other_tasks_run(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, loop, counting = 0, asyncio.get_running_loop(), True

    def count_turn() -> None:
        nonlocal turns
        turns += 1
        if counting:
            loop.call_soon(count_turn)

    async with connected(cluster, monkeypatch, streams(GONE * 20_000)) as (api, _):
        loop.call_soon(count_turn)
        seen = [turns async for _event in api.events("/api/v1/nodes", {})]
        counting = False
    assert len(seen) == 20_000
    assert max(Counter(seen).values()) * len(GONE) < 20_000


async def test_forbidden_watch_is_status_error(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({}, 403)) as (api, _):
        with pytest.raises(StatusError, match="watch of /x: 403 Forbidden") as refused:
            await anext(aiter(api.events("/x", NAMED)))
        assert refused.value.status == 403


@pytest.mark.parametrize(
    "line",
    [b"rubbish", b"[1]", b'{"object": {}}', b'{"type": 1, "object": {}}', b'{"type": "ADDED"}', b"[" * 200_000],
    ids=["no JSON", "a list", "without a type", "with a number as type", "without an object", "nested deeply"],
)
async def test_invalid_event_ends_watch(cluster: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    async with connected(cluster, monkeypatch, streams(line + b"\n")) as (api, _):
        with pytest.raises(ConnectionError, match=r"^watch of /x: not an event of the API server$"):
            await anext(aiter(api.events("/x", NAMED)))


async def test_endless_line_ends_watch(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [b"x" * 2**16] * 64
    async with connected(cluster, monkeypatch, streams(*chunks), SMALL) as (api, _):
        with pytest.raises(ConnectionError, match=r"^watch of /x: a line is larger than 1048576 bytes$"):
            await anext(aiter(api.events("/x", NAMED)))


async def test_read_returns_body_and_status_as_received(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says("404 page not found\n", 404)) as (api, server):
        assert await api.read("/apis/x?limit=5") == (404, b"404 page not found\n")
        (request,) = server.requests
        assert (request.method, request.path, dict(request.query)) == ("GET", "/apis/x", {"limit": "5"})


async def test_read_size_is_limited(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says("x" * 2**21), SMALL) as (api, _):
        with pytest.raises(ResponseTooLargeError, match=r"^GET /x: the answer is larger than 1048576 bytes$"):
            await api.read("/x")


async def test_http_reason_is_shortened(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=502, reason="r" * 5000, text="oops")

    async with connected(cluster, monkeypatch, answer) as (api, _):
        with pytest.raises(ConnectionError) as asked:
            await api.request("GET", "/x")
        with pytest.raises(ConnectionError) as watched:
            await anext(aiter(api.events("/x", NAMED)))
    for error in (asked.value, watched.value):
        assert "502 rrr" in str(error)
        assert len(str(error)) < 400


async def test_abandoned_watch_closes_connection(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b'{"type": "BOOKMARK", "object": {}}\n' * 1000)
        except ConnectionError:
            closed.set()
            raise

    async with connected(cluster, monkeypatch, answer) as (api, _):
        async with aclosing(api.events("/x", NAMED)) as events:
            assert (await anext(events)).type == "BOOKMARK"
        await closed.wait()


@pytest.mark.parametrize(
    ("date", "hours"),
    [
        ("Fri, 01 Jan 2100 00:00:00 GMT", 600_000),
        ("rubbish", 0),
        ("Fri, 01 Jan 2100 00:00:00 -0000", 0),
        ("Fri, 01 Jan 2100 00:00:00 +99999999999999999", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", -490_000),
    ],
)
async def test_now_follows_server_clock(cluster: Path, monkeypatch: pytest.MonkeyPatch, date: str, hours: int) -> None:
    async with connected(cluster, monkeypatch, says({}, Date=date)) as (api, _):
        assert api.skew == datetime.timedelta()
        await api.request("GET", "/x")
        ahead = api.now() - datetime.datetime.now(datetime.UTC)
        if hours == 0:
            assert abs(ahead) < datetime.timedelta(seconds=1)
        else:
            assert ahead / datetime.timedelta(hours=hours) > 1


async def test_small_clock_difference_is_ignored(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(cluster, monkeypatch, says({})) as (api, _):
        await api.request("GET", "/x")
        assert api.skew == datetime.timedelta()


async def test_connect_without_cluster_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(ClusterError, match=f"^cannot connect: {tmp_path}/missing: no such file; pass"):
        await connect(str(tmp_path / "missing"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    (tmp_path / "token").unlink()
    with pytest.raises(ClusterError, match="cannot connect: the files of the service account: Service token file does"):
        await connect()


async def test_invalid_authority_of_kubeconfig_is_an_error_of_one_line(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    content = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {}}],
        "clusters": [{"name": "x", "cluster": {"server": "https://x", "certificate-authority-data": "aGVsbG8="}}],
    }
    file.write_text(json.dumps(content))
    with pytest.raises(ClusterError) as wrong:
        await connect(str(file))
    (line,) = str(wrong.value).splitlines()
    assert line.startswith(f"cannot connect: {file}: ")
    assert line.endswith("; pass a kubeconfig that kubectl accepts with --kubeconfig or KUBECONFIG")


async def test_connect_reports_invalid_service_account_ca(cluster: Path) -> None:
    (cluster / "ca.crt").write_text("hello")
    with pytest.raises(ClusterError, match=r"connect: the files of the service account: .*; check that the pod's"):
        await connect()


def test_close_leaves_no_connection_of_canceled_request(tmp_path: Path) -> None:
    """The peer reads nothing more, and so does not end TLS. Python warns of a connection that a loop leaves open."""
    now = datetime.datetime.now(datetime.UTC)
    leaf = Authority.create("silent", now, datetime.timedelta(days=1)).sign(["127.0.0.1"], now, datetime.timedelta(1))
    (tmp_path / "tls.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.pem")
    asked, done = threading.Event(), threading.Event()

    def hold(listening: socket.socket) -> None:
        with context.wrap_socket(listening.accept()[0], server_side=True) as silent:
            silent.recv(1)
            asked.set()
            done.wait(PATIENCE)

    async def cancel(port: int) -> None:
        configuration = Configuration()
        configuration.host, configuration.verify_ssl = f"https://127.0.0.1:{port}", False
        api = Client(configuration)
        reading = asyncio.ensure_future(api.read("/api"))
        assert await asyncio.to_thread(asked.wait, PATIENCE)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await api.close()

    with socket.create_server(("127.0.0.1", 0)) as listening, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        thread = threading.Thread(target=hold, args=(listening,))
        thread.start()
        asyncio.run(cancel(listening.getsockname()[1]))
        done.set()
        thread.join(PATIENCE)
        gc.collect()
    assert [str(one.message) for one in warned] == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_not_followed(cluster: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async with connected(cluster, monkeypatch, says({}, status, Location="/admin")) as (api, server):
        with pytest.raises(ConnectionError, match=f"^GET /x: {status} redirects to /admin, which is not followed$"):
            await api.read("/x")
        with pytest.raises(ConnectionError, match="not followed"):
            await anext(api.events("/y", {}))
        assert [request.path for request in server.requests] == ["/x", "/y"]


NETRC = ("default login a password b\n", "machine 127.0.0.1 login a password b\n")


@pytest.mark.parametrize("content", NETRC)
async def test_netrc_is_not_read(cluster: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    (cluster / ".netrc").write_text(content)
    (cluster / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(cluster))
    monkeypatch.delenv("NETRC", raising=False)
    async with connected(cluster, monkeypatch, says({})) as (api, server):
        assert await api.request("GET", "/x") == (200, {})
        assert server.requests[0].headers["Authorization"] == "bearer first"


async def asked_of_proxy(monkeypatch: pytest.MonkeyPatch, address: str, **variables: str) -> str | None:
    """What the client sends to the proxy of the variables; None where it asks it for nothing."""
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with asyncio.timeout(PATIENCE), await asyncio.start_server(hear, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(port=port))
        configuration = Configuration()
        configuration.host = address
        monkeypatch.setattr(Client, "seconds", 1)
        api = Client(configuration)
        with pytest.raises(ConnectionError):
            await api.read("/x")
        await api.close()
        return heard.result() if heard.done() else None


async def test_proxy_of_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = await asked_of_proxy(monkeypatch, "https://192.0.2.1:6443", HTTPS_PROXY="http://u:p@127.0.0.1:{port}")
    assert sent is not None
    assert sent.startswith("CONNECT 192.0.2.1:6443 ")
    assert "Proxy-Authorization: Basic dTpw" in sent


@pytest.mark.parametrize("without", ["192.0.2.1", "192.0.0.0/16,10.0.0.0/8", "*"])
async def test_no_proxy_names_what_is_reached_without(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    variables = {"HTTPS_PROXY": "http://127.0.0.1:{port}", "NO_PROXY": without}
    assert await asked_of_proxy(monkeypatch, "https://192.0.2.1:6443", **variables) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_this_machine_needs_no_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert await asked_of_proxy(monkeypatch, f"https://{host}:1", HTTPS_PROXY="http://127.0.0.1:{port}") is None
