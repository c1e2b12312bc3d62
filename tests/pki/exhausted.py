"""A program: a keeper with the real TLS code of the server, in a process that cannot open another file.

Prints a JSON object that says what happened. It is a process of its own because the limit holds for all of a process.
Time is virtual and the API server is the fake one, so that the limit is the only thing that stands in the way.
"""

from __future__ import annotations

import json
import os
import resource
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from cryptography import x509

from tests.pki.virtual import run
from tests.pki.world import World
from webhook.server.metrics import Metrics
from webhook.server.tls import Credentials
from webhook.settings.configuration import Tls


class Endpoint:
    """What handshakes are served with."""

    context: ssl.SSLContext | None = None

    def use_tls(self, context: ssl.SSLContext) -> None:
        self.context = context


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


def shown(endpoint: Endpoint) -> int:
    """The serial number of the certificate that a handshake shows. It takes place in memory: sockets would be files."""
    assert endpoint.context is not None
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(ours, theirs)
    server = endpoint.context.wrap_bio(theirs, ours, server_side=True)
    for end in (client, server, client, server):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    certificate = client.getpeercert(binary_form=True)
    assert certificate is not None
    return x509.load_der_x509_certificate(certificate).serial_number


async def main() -> dict[str, Any]:
    endpoint = Endpoint()
    credentials = Credentials(Tls(mode="self-managed"), endpoint.use_tls, Metrics())
    world = World()
    world.configure_both()
    replica = world.add(credentials.install)
    await world.ready(within=3)
    first = replica.leaves[-1]
    with no_more_files():
        await world.pass_time(first.not_valid_after_utc - world.now() - timedelta(minutes=1))
        trusted_before_its_end, still = replica.keeper.trusted, shown(endpoint)
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
        "new certificate shown": len(replica.leaves) > 1 and shown(endpoint) == replica.leaves[-1].serial_number,
        "warnings": [[event, fields.get("error")] for level, event, fields in replica.logged if level == "warning"],
        "recovered": replica.events().count("certificate installed again"),
        "failures": replica.counts.counted.get("failures", 0),
    }


if __name__ == "__main__":
    print(json.dumps(run(main())))
