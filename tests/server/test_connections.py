"""Connections: kept alive, used concurrently, and answered before the server stops."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.certificates import Certificates
from tests.server.client import JSON, Client, reply, request
from tests.server.process import serve
from tests.server.reviews import patch_of, pod, review

pytestmark = pytest.mark.slow


def test_connection_survives_bad_request(client: Client) -> None:
    with client.connect() as connection:
        connection.sendall(request("POST", "/mutate", b"{"))
        assert reply(connection).status == 400
        connection.sendall(request("POST", "/mutate", json.dumps(review(pod())).encode()))
        assert reply(connection).status == 200


def test_connection_close_of_client_is_honored(client: Client) -> None:
    with client.connect() as connection:
        body = json.dumps(review(pod())).encode()
        connection.sendall(request("POST", "/mutate", body, {**JSON, "Connection": "close"}))
        replied = reply(connection)
        assert (replied.status, replied.headers["connection"]) == (200, "close")
        assert connection.recv(1) == b""


def test_concurrent_reviews_get_their_own_answers(client: Client) -> None:
    """Pods of 1 and of 2 replicas, on 16 connections at once."""

    def ask(number: int) -> None:
        uid, replicas = f"many-{number}", 1 + number % 2
        answer = client.review("/mutate", review(pod(replicas), uid=uid)).json()
        assert answer["response"]["uid"] == uid
        assert answer["response"]["allowed"] is (replicas == 1)
        assert bool(patch_of(answer)) is (replicas == 1)

    with ThreadPoolExecutor(16) as clients:
        assert len(list(clients.map(ask, range(200)))) == 200


def test_dual_stack_listener(certificates: Certificates) -> None:
    with serve(certificates, "--host", "::") as server:
        port = server.client.port
        for address in ("127.0.0.1", "::1"):
            with socket.create_connection((address, port), 20) as plain:
                assert plain.getpeername()[1] == port
