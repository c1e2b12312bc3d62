"""Ten times as many reviews as the server can process: most are shed at once, the others answered in time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.server.certificates import Certificates
from tests.server.client import measured, request
from tests.server.lines import until
from tests.server.load import Answer, closed_loop, open_loop, quantile
from tests.server.process import Serve, serve
from tests.server.reviews import pod, review

pytestmark = pytest.mark.slow

TIMEOUT = 4
"""Seconds that the API server of this test waits for an answer."""

SECONDS = 5

RECOVERY = 2.0
"""Seconds after the overload within which everything is as before."""

SETTINGS = "server: {shutdownDelay: 0s, maxInFlight: 8}\n"


def heavy(folder: Path) -> tuple[bytes, list[str]]:
    """A small review that is slow to process, and options for the nodes: each has a taint with a key of its own."""
    resources = {"nvidia.com/gpu": 10}
    nodes = [
        {"name": f"n{number}", "resources": resources, "taints": [{"key": f"for-{number}", "effect": "NoSchedule"}]}
        for number in range(10_000)
    ]
    facts = folder / "facts.yaml"
    facts.write_text(json.dumps({"nodes": nodes}))
    containers = [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    body = json.dumps(review(pod(containers=containers))).encode()
    return request("POST", f"/mutate?timeout={TIMEOUT}s", body), ["--facts", str(facts)]


async def test_ten_times_the_capacity_is_shed(certificates: Certificates, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)
    asked, options = heavy(tmp_path)
    with serve(certificates, "--config", str(settings), *options) as server:
        await closed_loop(server.client, asked, connections=2, seconds=0.5)
        capacity = max([await closed_loop(server.client, asked, connections=2, seconds=1) for _ in range(3)])
        before, processed = peak(server), measured(server.client, "reviews_total")
        answers = await open_loop(server.client, asked, rate=10 * capacity, seconds=SECONDS, patience=TIMEOUT)
        over = time.monotonic()
        until(lambda: server.client.say(asked).status == 200)
        recovery = time.monotonic() - over
        processed, grown = measured(server.client, "reviews_total") - processed - 1, peak(server) - before
    given = [answer for answer in answers if isinstance(answer, Answer)]
    admitted = [answer.seconds for answer in given if answer.status == 200]
    shed = [answer for answer in given if answer.status != 200]
    print(
        f"\ncapacity {capacity:.0f}/s; of {len(answers)} reviews at ten times as many {len(admitted)} admitted "
        f"(99 of 100 within {quantile(admitted, 0.99):.2f} s), {len(shed)} shed, {len(answers) - len(given)} hung up; "
        f"{processed - len(admitted):.0f} processed in vain; {grown / 2**20:.0f} MiB more at the peak; "
        f"recovered after {recovery:.2f} s"
    )
    assert {type(one) for one in answers} <= {Answer, TimeoutError}
    assert {(one.status, one.headers.get("retry-after"), one.headers.get("connection")) for one in shed} == {
        (503, "1", "close")
    }
    assert len(shed) > len(answers) / 3
    # Admitted reviews are answered in time: hardly any is processed for a client that has hung up.
    assert processed - len(admitted) <= max(2, processed / 10)
    assert len(admitted) > capacity * SECONDS / 4
    assert grown < 64 * 2**20
    assert recovery < RECOVERY


def peak(server: Serve) -> int:
    """The most memory that the server's process has held, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
