"""Connections that carry one review and are then idle for 90 seconds, as long as the API server keeps them."""

from __future__ import annotations

import http.client
import json
import select
import ssl
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.hooks import (
    DRY_POD,
    MUTATING,
    LocalWebhook,
    hooks,
    is_mutated,
    local_webhook_process,
    namespace,
)
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.relay import relay
from tests.server.reviews import review

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.relay import Relay, Relayed, Side

STRICT = "/api/v1/namespaces/strict/pods?dryRun=All"
REST, LONGER = 85, 91
"""Seconds: within the time that the API server keeps an idle connection, 90 s, and beyond it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The outcome of three connections.

    `kept`: whether the API server's first one carried the create after the rest, too. `closed_by`: the side that closed
    the other, `idle` seconds after its answer. `reused`: whether the test's own client was answered after the longer
    rest.
    """

    kept: bool
    closed_by: Side
    idle: float
    reused: bool


def watch() -> Seen:
    """Leave them idle, all at the same time; takes 90 seconds."""
    strict = {"pod-security.kubernetes.io/enforce": "baseline"}
    settings = {"injections": {"runtimeClass": {"enabled": False}}}
    with (
        control_plane() as running,
        namespace(running, "strict", **strict),
        local_webhook_process(running, settings=settings) as beside,
        relay(running.place, beside.port) as kept,
        relay(running.place, beside.port) as left,
    ):

        def address(entry: Object) -> Object:
            at = left if entry["name"].startswith("pods-without-hostpath") else kept
            return beside.client_config(entry, at.port)

        with hooks(running, address, lambda: _completed(running) and _completed(running, STRICT), which=(MUTATING,)):
            return _rest(running, beside, kept, left)


def _rest(running: ControlPlaneOnly, beside: LocalWebhook, kept: Relay, left: Relay) -> Seen:
    own = _open(beside)
    try:
        assert _answers(own)
        began = monotonic()
        first = _used(running, kept, DRY_POD)
        other = _used(running, left, STRICT)
        since = monotonic()
        assert not first.closed.wait(REST), f"{first.first_since(since)}, after {since}"
        again = _used(running, kept, DRY_POD)
        reused = not _ends(own, LONGER - (monotonic() - began)) and _answers(own)
        assert other.closed.wait(20), "the API server keeps idle connections longer"
        end = other.first_since(since)
        return Seen(again is first, end.side, end.at - since, reused)
    finally:
        own.close()


def _used(running: ControlPlaneOnly, through: Relay, path: str) -> Relayed:
    """The one connection that carries a create."""
    before = {one: one.sent for one in through.connections}
    assert _completed(running, path)
    (found,) = [one for one in through.connections if one.sent > before.get(one, 0)]
    return found


def _completed(running: ControlPlaneOnly, path: str = DRY_POD) -> bool:
    return is_mutated(running.api.create(path, pod("one")))


def _open(beside: LocalWebhook) -> http.client.HTTPSConnection:
    """A connection of the test to the webhook."""
    address = beside.place.address
    context = ssl.create_default_context(cadata=beside.authority.bundle().decode())
    connection = http.client.HTTPSConnection(address, beside.port)
    plain = beside.place.connect(address, beside.port, 5)
    connection.sock = context.wrap_socket(plain, server_hostname=address)
    return connection


def _answers(connection: http.client.HTTPSConnection) -> bool:
    """Whether a review is answered, on the connection as it is."""
    connection.auto_open = 0
    body = json.dumps(review(pod("one")))
    connection.request("POST", "/mutate", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status == 200 and "patch" in json.loads(answer.read())["response"]


def _ends(connection: http.client.HTTPSConnection, seconds: float) -> bool:
    """Whether the server says or closes anything on an idle connection within this time."""
    readable, _, _ = select.select([connection.sock], [], [], seconds)
    return bool(readable)
