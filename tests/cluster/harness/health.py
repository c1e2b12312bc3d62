"""The health port of a webhook, and sums of metrics."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Callable
from contextlib import closing

from tests.cluster.harness.waiting import wait_for


def page(connect: Callable[[], socket.socket], path: str) -> tuple[int, str]:
    """Status and body of a page. Raises `OSError` if nothing listens."""
    status, _, text = _get(connect, path)
    return status, text


def metrics(connect: Callable[[], socket.socket]) -> str:
    """The metrics as they are now: the webhook serves an exposition for a second."""
    _, served, _ = _get(connect, "/metrics")

    def current() -> str | None:
        _, tag, text = _get(connect, "/metrics")
        return text if tag != served else None

    return wait_for("another exposition", current)


def total(text: str, name: str, **labels: str) -> float:
    """The sum of a metric's samples that carry these labels; 0 when there is none."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    lines = [line for line in text.splitlines() if re.match(rf"{name}(\{{| )", line)]
    return sum(float(line.rpartition(" ")[2]) for line in lines if all(label in line for label in wanted))


def _get(connect: Callable[[], socket.socket], path: str) -> tuple[int, str | None, str]:
    with closing(connect()) as connected:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = connected
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.getheader("ETag"), response.read().decode()
