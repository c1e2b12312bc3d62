"""A program: a keeper with the real TLS code of the server, in a process that can open no more files.

Prints a JSON object that says what happened. It is a process of its own because the limit holds for all of a process.
Time is virtual and the API server is the fake one, so that the limit is the only thing that stands in the way.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from aiohttp import web
from cryptography import x509

from tests.pki.virtual import run
from tests.pki.world import World
from webhook.server.client_auth import ClientAuth
from webhook.server.credentials import Credentials
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.server import HttpServer
from webhook.server.http.state import Terms
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics
from webhook.settings.process import Tls

NOWHERE = 2
"""The journal is of no interest here: the keeper's own lines are."""


def credentials() -> tuple[Credentials, Acceptor]:
    """The real ones, with an acceptor that does not listen."""
    log, metrics = EventLog("json", "error", NOWHERE), Metrics()
    loop = asyncio.get_running_loop()
    terms = Terms(1.0, loop.time, ClientAuth().knows, metrics.close)
    acceptor = Acceptor(HttpServer(_never_called, terms, 1.0, log, metrics), 1, log)
    return Credentials(Tls(mode="self-managed"), acceptor, metrics), acceptor


async def _never_called(request: web.BaseRequest) -> web.Response:
    raise NotImplementedError


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing can be opened: all descriptors below the limit are taken."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    taken = []
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)


def shown(acceptor: Acceptor) -> int:
    """The serial number of the certificate that a handshake shows. It takes place in memory: sockets would be files."""
    assert acceptor.tls is not None
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(ours, theirs)
    server = acceptor.tls.wrap_bio(theirs, ours, server_side=True)
    for end in (client, server, client, server):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    certificate = client.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


async def main() -> dict[str, Any]:
    real, acceptor = credentials()
    world = World()
    world.configure_both()
    replica = world.add(real.present)
    await world.ready(within=3)
    first = replica.leaves[-1]
    with no_more_files():
        await world.pass_time(first.not_valid_after_utc - world.now() - timedelta(minutes=1))
        trusted_before_its_end, still = replica.keeper.trusted, shown(acceptor)
        await world.pass_time(timedelta(minutes=2))
        trusted_after_its_end = replica.keeper.trusted
    alive = replica.running is not None and not replica.running.done()
    leaves = len(replica.leaves)
    if alive:
        await world.ready(within=90)
        await world.ended()
    return {
        "alive": alive,
        "leaves while exhausted": leaves,
        "old certificate shown": still == first.serial_number,
        "trusted before its end": trusted_before_its_end,
        "trusted after its end": trusted_after_its_end,
        "new certificate shown": len(replica.leaves) > 1 and shown(acceptor) == replica.leaves[-1].serial_number,
        "warnings": [[event, fields.get("error")] for level, event, fields in replica.said if level == "warning"],
        "recovered": replica.events().count("certificate shown again"),
        "failures": replica.counts.counted.get("failures", 0),
    }


if __name__ == "__main__":
    print(json.dumps(run(main())))
