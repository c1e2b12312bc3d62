"""Requests that are not reviews get the right status code and a Status that says what is wrong."""

from __future__ import annotations

import gzip
import json
import socket
import sys

import pytest

from tests.server.certificates import Certificates
from tests.server.client import JSON, Client, Reply, reply, request
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review
from webhook.server.reviews import target

GOOD = json.dumps(review(pod())).encode()
LIMIT = 28 * 2**20
PATHS = "/mutate, /mutate/without-hostpath, /validate"

REASONS = {
    400: "BadRequest",
    404: "NotFound",
    405: "MethodNotAllowed",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    417: "Unknown",
}
"""As `metav1.StatusReason` spells them (k8s.io/apimachinery pkg/apis/meta/v1/types.go)."""


def assert_refused(reply: Reply, code: int, message: str) -> None:
    assert (reply.status, reply.headers["content-type"]) == (code, "application/json")
    assert reply.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": REASONS[code],
        "code": code,
    }
    assert_no_banner(reply)


def assert_no_banner(reply: Reply) -> None:
    """The server does not reveal the versions of its libraries."""
    assert reply.headers["server"] == "gpushare-webhook"


@pytest.mark.parametrize("path", ["/mutate", "/mutate/without-hostpath", "/validate", "/mutate?timeout=10s"])
def test_review_paths(client: Client, path: str) -> None:
    answered = client.post(path, GOOD)
    assert (answered.status, answered.headers["content-type"]) == (200, "application/json")
    assert_no_banner(answered)


OTHER_PATHS = (
    "/ /mutate/ /Mutate /validate/x //mutate /metrics /livez /%6dutate/x //x/mutate /%6dutate /mutate#x /mutate;x"
)
OTHER_TYPES = ("text/plain", "application/yaml", "application/vnd.kubernetes.protobuf", "json", "")
REVIEW_PATHS = PATHS.split(", ")


def post(body: bytes, headers: dict[str, str] | None = None, path: str = "/mutate") -> bytes:
    return request("POST", path, body, {**JSON, **(headers or {})})


def chunked(*chunks: bytes) -> bytes:
    head = request("POST", "/mutate", b"", {**JSON, "Transfer-Encoding": "chunked"}).replace(
        b"Content-Length: 0\r\n", b""
    )
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        *((post(GOOD, path=path), 404, f"no such path; send reviews to {PATHS}") for path in OTHER_PATHS.split()),
        *(
            (request(method, path, GOOD), 405, "reviews are sent by POST")
            for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND")
            for path in REVIEW_PATHS
        ),
        *(
            (
                request("POST", "/mutate", GOOD, {"Content-Type": content_type}),
                415,
                "the content type of a review is application/json",
            )
            for content_type in OTHER_TYPES
        ),
        *(
            (post(gzip.compress(GOOD, mtime=0), {"Content-Encoding": encoding}), 415, "reviews are not compressed")
            for encoding in ("gzip", "deflate", "br", "x-unheard-of")
        ),
        (post(GOOD, {"Expect": "200-ok"}), 417, "the only expectation that this server meets is 100-continue"),
        (post(b""), 400, "the request has no body"),
        # `tests/admission/test_malformed.py` has the messages.
        *((post(GOOD[:-40], path=path), 400, "not JSON: Input data was truncated") for path in REVIEW_PATHS),
        (post(b" " * (LIMIT + 1)), 413, f"a review has at most {LIMIT} bytes"),
        (chunked(*[b" " * 2**20] * 29), 413, f"a review has at most {LIMIT} bytes"),
    ],
    ids=lambda value: value.partition(b" HTTP")[0].decode() if isinstance(value, bytes) else str(value)[:60],
)
def test_other_request_is_refused_with_status(client: Client, said: bytes, code: int, message: str) -> None:
    refused = client.say(said)
    assert_refused(refused, code, message)
    assert refused.headers.get("allow") == ("POST" if code == 405 else None)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": "APPLICATION/JSON"},
        {"Content-Type": "application/json;charset=utf-8"},
        {**JSON, "Content-Encoding": "identity"},
    ],
    ids=str,
)
def test_headers_of_a_review_are_read_leniently(client: Client, headers: dict[str, str]) -> None:
    assert client.post("/mutate", GOOD, headers).status == 200


def test_head_gets_405_without_body(client: Client) -> None:
    with client.connect() as connection:
        connection.sendall(request("HEAD", "/mutate"))
        refused = reply(connection, "HEAD")
    assert (refused.status, refused.headers["allow"], refused.body) == (405, "POST", b"")


def test_expect_100_continue(client: Client) -> None:
    head, body = request("POST", "/mutate", GOOD, {**JSON, "Expect": "100-continue"}).split(b"\r\n\r\n", 1)
    with client.connect() as connection:
        connection.sendall(head + b"\r\n\r\n")
        connection.settimeout(2)  # less than the time that a body has
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert reply(connection).status == 200


def test_small_limit_holds_for_a_body_that_arrives_at_once(certificates: Certificates) -> None:
    with serve(certificates, bodyLimit=len(GOOD)) as server:
        assert server.client.post("/mutate", GOOD).status == 200
        refused = server.client.post("/mutate", GOOD + b" ")
    assert_refused(refused, 413, f"a review has at most {len(GOOD)} bytes")


def test_body_of_the_limit(client: Client) -> None:
    assert client.post("/mutate", GOOD + b" " * (LIMIT - len(GOOD))).status == 200


def test_truncated_body_gets_400(served: Serve) -> None:
    with served.client.connect() as connection:
        connection.sendall(request("POST", "/mutate", GOOD)[:-10])
        connection.shutdown(socket.SHUT_WR)
    served.log.event("refused", status=400, message="the review ends before its length")
    assert served.client.post("/mutate", GOOD).status == 200


NO_HTTP = {
    "garbage": b"garbage\r\n\r\n",
    "no length": b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
    "two lengths": b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "long header": b"POST /mutate HTTP/1.1\r\nHost: x\r\nX-Long: " + b"y" * 100_000 + b"\r\n\r\n",
    "long header without an end": b"POST /mutate HTTP/1.1\r\nHost: x\r\nX-Long: " + b"y" * 100_000,
    "header of more than 32 KiB": b"POST /mutate HTTP/1.1\r\nHost: x\r\n" + b"X: %b\r\n" % (b"y" * 800) * 50 + b"\r\n",
    "odd version": b"POST /mutate HTTP/9.9\r\nHost: x\r\n\r\n",
    "unknown method": b"BREW /mutate HTTP/1.1\r\nHost: x\r\n\r\n",
    "binary": bytes(range(256)) + b"\r\n\r\n",
}


@pytest.mark.parametrize("said", NO_HTTP.values(), ids=NO_HTTP)
def test_malformed_http_gets_400(client: Client, said: bytes) -> None:
    refused = client.say(said)
    assert refused.status == 400
    assert refused.body
    assert b"Traceback" not in refused.body
    assert_no_banner(refused)


def test_plain_http_on_review_port(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), 20) as connection:
        connection.sendall(request("POST", "/mutate", GOOD))
        assert b"response" not in connection.recv(65536)
    assert client.post("/mutate", GOOD).status == 200


def test_long_request_line_is_not_cached() -> None:
    line = "/mutate?timeout=5s&note=" + "n" * 300
    before = sys.getrefcount(line)
    assert target(line)[1] == 5
    assert sys.getrefcount(line) == before
