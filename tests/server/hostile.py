"""Reviews that cost as much as any of their size, and a process that sends them one after the other.

    python -m tests.server.hostile PORT SHAPE

It is a process of its own, so that its work on 28 MiB is no part of what others measure. It writes `begun` when it
begins, and when its standard input ends the seconds that each review took and the answers, as JSON.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests import hostile as hostile_pods
from tests.server.client import Client, request

MIB = 2**20
LARGEST = 28 * MIB
_HEAD = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"hostile","kind":{"kind":"Pod"},'
    b'"operation":"CREATE","object":{"metadata":{"name":"hostile"},"spec":{"containers":[{"name":"train","resources":'
    b'{"limits":{"nvidia.com/gpu":1}}}],"unknown":'
)
_TAIL = b"}}}}"


def listed(element: bytes, count: int) -> bytes:
    """A list of this many equal elements."""
    return b"[" + b",".join([element] * count) + b"]"


def keyed(count: int) -> bytes:
    """An object with this many different keys."""
    return b"{" + b",".join(b'"%06x":"ab"' % number for number in range(count)) + b"}"


def filled(element: bytes) -> bytes:
    """A list that fills the largest review."""
    return listed(element, (LARGEST - 1000) // (len(element) + 1))


SHAPES: dict[str, Callable[[], bytes]] = {
    "one text": lambda: b'"' + b"a" * (LARGEST - 1000) + b'"',
    "one wide text": lambda: b'"' + b"a" * (LARGEST - 1000) + '\U0001f600"'.encode(),
    "escapes": lambda: b'"' + b"\\u003c" * ((LARGEST - 1000) // 6) + b'"',
    "texts": lambda: listed(b'"a"', 1_590_000),
    "wide texts": lambda: listed('"\U0001f600aaaa"'.encode(), 1_590_000),
    "keys": lambda: keyed(499_000),
    "objects": lambda: listed(b"{}", 299_000),
    "objects with a key": lambda: listed(b'{"a":1}', 299_000),
    "objects with two keys": lambda: listed(b'{"name":"a","value":"b"}', 249_000),
    "lists": lambda: listed(b'["a","a"]', 299_000),
    "floats": lambda: filled(b"2.2250738585072011e-308"),
    "integers": lambda: filled(b"7" * 399),
    "too many objects": lambda: listed(b"{}", 300_001),
    "too deep": lambda: b"[" * 200_000,
}
"""What stands in a field that no check reads, so that it is decoded and nothing else."""


CHECKED = (
    "node selector x affinity terms",
    "volume mounts x volumes",
    "containers of one resource",
    "init containers",
    "MIG resources",
    "misspelled resources",
    "annotations with the product's prefix",
    "empty tolerations",
)
"""Shapes of `tests.hostile` that the checks spend the most on, each as large as its structure may be."""

_LARGE = 8 * MIB


def body(shape: str) -> bytes:
    """A review of this shape."""
    if shape in SHAPES:
        return _HEAD + SHAPES[shape]() + _TAIL
    checked = hostile_pods.SHAPES[shape]
    return checked.review(checked.count_for(_LARGE))


class Hostile:
    """What the process reported: `seconds` that each review took, and how often each answer came."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.answers: dict[str, int] = {}


@contextmanager
def hostile(client: Client, shape: str) -> Iterator[Hostile]:
    """Reviews of a shape arrive one after the other while the context lasts; afterwards, what came of them."""
    command = [sys.executable, "-m", "tests.server.hostile", str(client.port), shape]
    reported = Hostile()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"begun\n"
            yield reported
            process.stdin.close()
            measured = json.loads(process.stdout.read())
        finally:
            process.kill()
    reported.seconds, reported.answers = measured["seconds"], measured["answers"]


def _send(port: int, shape: str) -> None:
    client = Client(port, 0, _trusting_all())
    asked, ended = request("POST", "/mutate?timeout=30s", body(shape)), threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    print("begun", flush=True)
    seconds: list[float] = []
    answers: dict[str, int] = {}
    while not ended.is_set() or not seconds:
        began = time.monotonic()
        status = client.say(asked).status
        seconds.append(time.monotonic() - began)
        answers[str(status)] = answers.get(str(status), 0) + 1
    print(json.dumps({"seconds": seconds, "answers": answers}))


def _trusting_all() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


if __name__ == "__main__":
    _send(int(sys.argv[1]), sys.argv[2])
