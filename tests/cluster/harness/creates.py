"""Pods created at a steady rate whatever becomes of them, and what the API server made of each: an open-loop client."""

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

# No create waits for another: a webhook that hangs holds each for its timeout, twice, and 200 may be under way.
_WORKERS = 256
# Pods that nobody schedules are stored like any other, and no node has to run them.
_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Create:
    """One pod: when it was due, in `monotonic` seconds, how long after that it was answered, and what became of it.

    The message is the API server's refusal, or its warnings.
    """

    name: str
    due: float
    seconds: float
    outcome: Outcome
    message: str


class Creates:
    """Creates under way, `rate` a second. The time of an answer counts from when its create was due."""

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
        """Begin no more, and wait for the answers that are due."""
        self._over.set()
        self._clock.join()
        for connection in self._connections:
            connection.close()

    @property
    def answered(self) -> list[Create]:
        """What has been answered so far, in the order in which it was due. Raises what broke a create on our side."""
        return [answer.result() for answer in self._answers if answer.done()]

    def go_on(self, count: int = 20) -> None:
        """Wait until so many more have been answered."""
        wanted = len(self.answered) + count
        wait_for(f"{count} creates", lambda: len(self.answered) >= wanted)

    def settle(self) -> None:
        """Wait until all that were due by now have been answered."""
        due = len(self._answers)
        wait_for("all creates", lambda: all(answer.done() for answer in self._answers[:due]), seconds=60)

    def stored(self) -> dict[str, Outcome]:
        """What the API server has stored, by name."""
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
        body = json.dumps(pod(name, *self._containers, schedulerName=_NOBODY))
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
    """Create pods for as long as the block runs; at its end all have been answered."""
    creates = Creates(space, rate, containers)
    try:
        yield creates
    finally:
        creates.finish()


def lost(creates: list[Create]) -> list[Create]:
    """Those that were refused, or stored without our edits."""
    return [one for one in creates if one.outcome != "mutated"]


def told(creates: list[Create]) -> str:
    """The figures, on one line."""
    outcomes = Counter(one.outcome for one in creates)
    seconds = sorted(one.seconds for one in creates)
    times = [f"{name} {1000 * seconds[int(part * (len(seconds) - 1))]:.0f} ms" for name, part in _PARTS.items()]
    parts = [f"{outcomes[name]} {name}" for name in ("mutated", "unmutated", "refused")]
    return f"{len(creates)} creates: {', '.join(parts)}; {', '.join(times)}"


_PARTS = {"p50": 0.5, "p99": 0.99, "longest": 1.0}
