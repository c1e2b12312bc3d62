"""Ten times as many reviews as the server can process: most are shed at once, the others answered in time."""

from __future__ import annotations

import pytest

from tests.hostile import SHAPES
from tests.server.certificates import Certificates
from tests.server.client import Client, measured, request
from tests.server.lines import until
from tests.server.load import Answer, Line, overload, quantile
from tests.server.process import serve

pytestmark = pytest.mark.slow

TIMEOUT = 10
"""Seconds that the API server waits for an answer, by default."""

ADMITTED = 80
"""Reviews that the server answers before the overload ends."""

IN_FLIGHT = 8

SLOW = SHAPES["misspelled resources"]
"""A pod that is small enough for the event loop, and takes ten times as long as a handshake with an answer of 503."""


async def test_ten_times_the_capacity_is_shed(certificates: Certificates) -> None:
    """By counts and processor time: both say the same on a busy machine."""
    asked = request("POST", f"/mutate?timeout={TIMEOUT}s", SLOW.review(SLOW.count_for(48 * 1024)))
    with serve(certificates, maxInFlight=IN_FLIGHT) as server:
        await in_turn(server.client, asked, 20)
        began = server.cpu()
        await in_turn(server.client, asked, ADMITTED)
        alone = server.cpu() - began
        before, processed = server.memory("VmHWM"), measured(server.client, "reviews_total")
        began = server.cpu()
        answers = await overload(server.client, asked, 10, 10 * IN_FLIGHT, ADMITTED, patience=TIMEOUT)
        among = server.cpu() - began
        until(lambda: measured(server.client, "in_flight") == 0)
        processed, grown = measured(server.client, "reviews_total") - processed, server.memory("VmHWM") - before
        assert server.client.say(asked).status == 200, "everything is as before"
    given = [answer for answer in answers if isinstance(answer, Answer)]
    admitted = [answer.seconds for answer in given if answer.status == 200]
    shed = [answer for answer in given if answer.status != 200]
    print(
        f"\n{1000 * alone / ADMITTED:.0f} ms of CPU per review, {1000 * among / len(admitted):.0f} ms among ten times "
        f"as many; of {len(answers)}, {len(admitted)} admitted (99 of 100 within {quantile(admitted, 0.99):.2f} s), "
        f"{len(shed)} shed, {len(answers) - len(given)} hung up; {processed - len(admitted):.0f} processed in vain; "
        f"{grown / 2**20:.0f} MiB more at the peak"
    )
    assert {type(one) for one in answers} <= {Answer, TimeoutError}
    assert {(one.status, one.headers.get("retry-after"), one.headers.get("connection")) for one in shed} == {
        (503, "1", "close")
    }
    assert len(shed) > len(answers) / 3
    # Admitted reviews are answered in time: hardly any is processed for a client that has hung up.
    assert processed - len(admitted) <= max(2, processed / 10)
    assert len(admitted) >= ADMITTED
    assert among / len(admitted) < 4 * alone / ADMITTED
    assert grown < 64 * 2**20


async def in_turn(client: Client, asked: bytes, count: int) -> None:
    """Have this many reviews answered on one connection."""
    line = await Line.open(client)
    for _ in range(count):
        assert (await line.ask(asked)).status == 200
    await line.close()
