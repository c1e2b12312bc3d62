"""The webhook as a process that reads facts, and reviews sent to it directly, without the API server."""

from __future__ import annotations

import json
import socket
import ssl
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.cluster.harness import health
from tests.cluster.harness.api import HttpsConnection
from tests.cluster.harness.hooks import local_webhook_process
from tests.contract.answers import Answered, by_hook
from tests.server.reviews import review

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.hooks import LocalWebhook


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A webhook process, and the verdicts that it gives now.

    `logged_before`: the size of the log that earlier processes left in the same file.
    """

    webhook: LocalWebhook
    logged_before: int

    def answer(self, asked: Object, path: str = "/mutate") -> Answered:
        """The verdict about a review."""
        context = ssl.create_default_context(cadata=self.webhook.authority.bundle().decode())
        with closing(HttpsConnection(self.webhook.place, self.webhook.port, context, 10)) as connection:
            connection.request("POST", path, json.dumps(asked), {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body.decode(errors='replace')}")
        return by_hook(json.loads(body))

    def pod(self, manifest: Object, namespace: str = "default") -> Answered:
        """The mutating hook's verdict about a new pod."""
        return self.answer(review(manifest, namespace=namespace))

    def log(self) -> list[Object]:
        """The entries of the process's log."""
        lines = self.webhook.process.log.read_bytes()[self.logged_before :].splitlines()
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    def health(self, path: str) -> tuple[int, str]:
        """Status and body of a page of the health port."""
        return health.page(self._connect, path)

    def metrics(self) -> str:
        """The metrics as they are now."""
        return health.metrics(self._connect)

    def _connect(self) -> socket.socket:
        place = self.webhook.place
        return place.connect(place.address, self.webhook.health_port, 10)


@contextmanager
def reviewer(running: ControlPlaneOnly, settings: Object, kubeconfig: Path) -> Iterator[Reviewer]:
    """Run the webhook with the rights of a kubeconfig, and wait until it accepts reviews."""
    log = running.place.folder / "logs" / "webhook.log"
    logged_before = log.stat().st_size if log.exists() else 0
    with local_webhook_process(running, settings=settings, kubeconfig=kubeconfig) as started:
        reviewing = Reviewer(started, logged_before)
        started.process.wait_until("the webhook accepts reviews", lambda: _is_listening(reviewing))
        yield reviewing


def _is_listening(reviewing: Reviewer) -> bool:
    try:
        return reviewing.health("/readyz")[0] == 200
    except OSError:
        return False
