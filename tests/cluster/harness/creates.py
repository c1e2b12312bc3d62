"""An open-loop client: creates pods at a steady rate and records the outcome of each."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from threading import Event, Thread, local
from time import monotonic
from typing import TYPE_CHECKING, Literal

from tests.cluster.harness.hooks import is_mutated
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator, Sequence

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.workspace import Workspace

Outcome = Literal["mutated", "unmutated", "refused"]

# No create waits for another: a webhook that hangs holds each for its timeout, twice, so 200 can be in flight.
_WORKERS = 256
# Pods without a scheduler are stored like any other, and no node has to run them.
_NO_SCHEDULER = "none"


@dataclass(frozen=True, slots=True)
class Create:
    """One create: when it was due, in `monotonic` seconds, how long after that it was answered, and the outcome.

    The message is the API server's error, or its warnings.
    """

    name: str
    due: float
    seconds: float
    outcome: Outcome
    message: str


class Creates:
    """Creates in flight, `rate` per second. Latency counts from when a create was due."""

    def __init__(self, space: Workspace, rate: int, containers: Sequence[Object]) -> None:
        self._space, self._rate, self._containers = space, rate, containers
        self._over = Event()
        self._began = monotonic()
        self._mine = local()
        self._connections: list[http.client.HTTPSConnection] = []
        self._answers: list[Future[Create]] = []
        self._clock = Thread(target=self._keep_time, name="creates")
        self._clock.start()

    def finish(self) -> None:
        """Start no further creates, and wait for the outstanding answers."""
        self._over.set()
        self._clock.join()
        for connection in self._connections:
            connection.close()

    @property
    def answered(self) -> list[Create]:
        """The creates answered so far, in the order of their due times. Raises the exception of a failed request."""
        return [answer.result() for answer in self._answers if answer.done()]

    def wait_for_more(self, count: int = 20) -> None:
        """Wait until `count` more creates have been answered."""
        wanted = len(self.answered) + count
        wait_for(f"{count} creates", lambda: len(self.answered) >= wanted)

    def settle(self) -> None:
        """Wait until all creates that are due now have been answered."""
        due = len(self._answers)
        wait_for("all creates", lambda: all(answer.done() for answer in self._answers[:due]))

    def stored(self) -> dict[str, Outcome]:
        """The outcome of each stored pod, by name."""
        return {
            found["metadata"]["name"]: "mutated" if is_mutated(found) else "unmutated"
            for found in self._space.api.items(self._space.pods)
        }

    def _keep_time(self) -> None:
        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="create") as workers:
            for number in count():
                due = self._began + number / self._rate
                if self._over.wait(max(0.0, due - monotonic())):
                    return
                self._answers.append(workers.submit(self._create, f"pod-{number:05}", due))

    def _create(self, name: str, due: float) -> Create:
        api = self._space.api
        connection = self._connection()
        body = json.dumps(pod(name, *self._containers, schedulerName=_NO_SCHEDULER))
        connection.request("POST", self._space.pods, body, api.headers())
        answer = connection.getresponse()
        made = json.loads(answer.read())
        seconds = monotonic() - due
        if answer.status != 201:
            return Create(name, due, seconds, "refused", made["message"])
        outcome: Outcome = "mutated" if is_mutated(made) else "unmutated"
        return Create(name, due, seconds, outcome, answer.getheader("Warning", ""))

    def _connection(self) -> http.client.HTTPSConnection:
        """The connection of this thread."""
        if not hasattr(self._mine, "connection"):
            self._mine.connection = self._space.api.connection()
            self._connections.append(self._mine.connection)
        found: http.client.HTTPSConnection = self._mine.connection
        return found


@contextmanager
def creating(space: Workspace, *containers: Object, rate: int = 20) -> Iterator[Creates]:
    """Create pods while the block runs; at its end, all have been answered."""
    creates = Creates(space, rate, containers)
    try:
        yield creates
    finally:
        creates.finish()


def lost(creates: list[Create]) -> list[Create]:
    """The creates that were rejected, or stored without the webhook's edits."""
    return [one for one in creates if one.outcome != "mutated"]


def summary(creates: list[Create]) -> str:
    """Counts and latencies, on one line."""
    outcomes = Counter(one.outcome for one in creates)
    seconds = sorted(one.seconds for one in creates)
    times = [f"{name} {1000 * seconds[int(part * (len(seconds) - 1))]:.0f} ms" for name, part in _PARTS.items()]
    parts = [f"{outcomes[name]} {name}" for name in ("mutated", "unmutated", "refused")]
    return f"{len(creates)} creates: {', '.join(parts)}; {', '.join(times)}"


_PARTS = {"p50": 0.5, "p99": 0.99, "longest": 1.0}
