"""Real TLS handshakes through a rotation: OpenSSL agrees with what the simulation verifies by itself.

OpenSSL looks at the machine's clock, so the simulation begins now and ends before its certificates are of the future.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.pki.test_keeper import authorities, current, issued, rotating
from tests.pki.virtual import virtual
from tests.pki.world import HOST, World

pytestmark = virtual


def shake_hands(folder: Path, pair: tuple[bytes, bytes], pem: bytes) -> None:
    """A handshake in memory, as between the API server and a replica. Raises ssl.SSLError."""
    (folder / "pair.pem").write_bytes(b"".join(pair))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "pair.pem")
    calling = ssl.create_default_context(cadata=pem.decode())
    calling.verify_flags |= ssl.VERIFY_X509_STRICT
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(there, back, server_side=True)
    client = calling.wrap_bio(back, there, server_hostname=HOST)
    waiting = [client, server]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    assert waiting == []


def all_shake_hands(folder: Path, world: World) -> int:
    pairs = [(replica.pair, pem) for replica in world.replicas for pem in world.live().values()]
    for pair, pem in pairs:
        shake_hands(folder, pair, pem)
    return len(pairs)


async def test_handshakes_succeed_through_rotation(tmp_path: Path) -> None:
    world = await rotating(seed=9, began=datetime.now(UTC))
    old, shaken = current(world), 0
    for _ in range(30):
        await world.pass_time(timedelta(seconds=5))
        shaken += all_shake_hands(tmp_path, world)
    assert shaken == 30 * 9
    assert all(issued(replica, current(world)) for replica in world.replicas)
    assert authorities(world) == [current(world), old]
    await world.ended()
