"""Every version of an object that the API server stores over a period, not only the versions at the time of a read."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPResponse

    from tests.cluster.harness.api import Api, Object


@contextmanager
def history(api: Api, collection: str, name: str) -> Iterator[list[Object]]:
    """The versions of an object while the block runs, from the current one on; complete after the block."""
    first = api.get(f"{collection}/{name}")
    query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={first['metadata']['resourceVersion']}"
    versions = [first]
    connection = api.connection(seconds=600)
    connection.request("GET", f"{collection}?{query}", headers=api.headers())
    with ThreadPoolExecutor(1, thread_name_prefix="history") as reader:
        reading = reader.submit(_read, connection.getresponse(), versions)
        try:
            yield versions
            last = api.get(f"{collection}/{name}")["metadata"]["resourceVersion"]
            wait_for("the last version", lambda: versions[-1]["metadata"]["resourceVersion"] == last or reading.done())
        finally:
            connection.sock.shutdown(socket.SHUT_RDWR)  # wakes the reader, which closing would not
            reading.result()
            connection.close()


def _read(answer: HTTPResponse, versions: list[Object]) -> None:
    """Append each version that the watch reports, until the connection ends."""
    while line := answer.readline():
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise RuntimeError(f"the watch ended: {event['object']['message']}")
        versions.append(event["object"])
