"""Replicas that manage their certificates on a real API server, with the chart's rights and a webhook each."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from webhook.cluster.client import Client, connect
from webhook.pki import Dependencies, Installation, Keeper, Lifetimes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

NAME, NAMESPACE = "guard", "gpu"
OURS = Installation(NAMESPACE, NAME, extra_hosts=("127.0.0.1",))
MUTATING, VALIDATING = (f"{collection}/{NAME}" for collection in OURS.configurations)
SECRET = f"{OURS.secrets}/{OURS.secret}"

_CONFIGURATIONS = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
_READ = ["get", "list", "watch"]


def rule(group: str, resource: list[str], verbs: list[str], *names: str) -> Object:
    """A rule of a role."""
    return {"apiGroups": [group], "resources": resource, "verbs": verbs} | (
        {"resourceNames": [*names]} if names else {}
    )


ROLE = [
    rule("", ["secrets"], [*_READ, "update", "patch"], OURS.secret),
    rule("", ["secrets"], ["create"]),
    rule("apps", ["deployments"], ["get"], NAME),
]
CLUSTER_ROLE = [
    rule("admissionregistration.k8s.io", _CONFIGURATIONS, [*_READ, "patch"], NAME),
    rule("node.k8s.io", ["runtimeclasses"], _READ),
]


def install(running: ControlPlaneOnly) -> Path:
    """What the chart makes before its pods start; a kubeconfig with the token of its service account."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    rights = "rbac.authorization.k8s.io"
    inside = {"name": NAME, "namespace": NAMESPACE}
    labels = {"app": NAME}
    container = {"name": NAME, "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": inside},
        {"apiVersion": f"{rights}/v1", "kind": "Role", "metadata": inside, "rules": ROLE},
        {"apiVersion": f"{rights}/v1", "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": CLUSTER_ROLE},
        *(
            {
                "apiVersion": f"{rights}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": rights, "kind": kind, "name": NAME},
                "subjects": [account],
            }
            for kind, metadata in (("Role", inside), ("ClusterRole", {"name": NAME}))
        ),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": inside,
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": {**inside, "name": OURS.secret, "labels": labels}},
    ]
    running.kubectl("apply", "-f", "-", manifest={"apiVersion": "v1", "kind": "List", "items": objects})
    token = running.kubectl("create", "token", NAME, "-n", NAMESPACE).strip()
    return running.control.write_kubeconfig(NAME, token)


class Replica:
    """One replica: a keeper, and a webhook that allows everything with the keeper's leaf, each call by a new handshake.

    `calls` counts the reviews by the path that they were sent to.
    """

    def __init__(self, running: ControlPlaneOnly, number: int, kubeconfig: Path, lifetimes: Lifetimes) -> None:
        self._number, self._kubeconfig, self._lifetimes = number, kubeconfig, lifetimes
        self._folder = running.place.folder
        self._listening = running.place.listen()
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}"
        self.said: list[tuple[str, str, dict[str, Any]]] = []
        self.counted: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.leaves: list[bytes] = []
        self.failed: BaseException | None = None
        self.keeper: Keeper | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._started = Event()
        self._thread = Thread(target=self._run)

    @property
    def trusted(self) -> bool:
        """Whether the replica reports that it is trusted; raises the exception that ended it."""
        if self.failed is not None:
            raise self.failed
        return self.keeper is not None and self.keeper.trusted

    def events(self) -> list[str]:
        """Its log events, without fields."""
        return [event for _, event, _ in self.said]

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(20)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def count(self, what: str) -> None:
        self.counted[what] += 1

    def authority_ends(self, end: datetime) -> None:
        """Ignored here."""

    def _say(self, level: str, event: str, /, **fields: Any) -> None:
        self.said.append((level, event, {"at": datetime.now(UTC).isoformat(), **fields}))

    def _install(self, certificate: bytes, key: bytes) -> None:
        pair = self._folder / f"replica-{self._number}.pem"
        pair.touch(0o600)
        pair.write_bytes(certificate + key)
        self._context.load_cert_chain(pair)
        self.leaves.append(certificate)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            self.failed = error
            raise

    async def _serve(self) -> None:
        self._loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._task = task
        api: Client = await connect(str(self._kubeconfig))
        dependencies = Dependencies(api, self._install, self._say, self.count, self.authority_ends, api.now)
        self.keeper = Keeper(OURS, self._lifetimes, dependencies)
        server = await asyncio.start_server(self._answer, sock=self._listening, ssl=self._context)
        self._started.set()
        try:
            await self.keeper.run()
        finally:
            server.close()
            await api.close()
            for answering in asyncio.all_tasks() - {task}:
                await answering

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length is not None
        review = json.loads(await reader.readexactly(int(length[1])))
        self.calls[head.split(b" ", 2)[1].decode().partition("?")[0]] += 1
        response = {"uid": review["request"]["uid"], "allowed": True}
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        ).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()  # the loop ends after the answers, and TLS is closed in several steps of it


@contextmanager
def replicas(
    running: ControlPlaneOnly, kubeconfig: Path, lifetimes: Lifetimes, number: int = 3
) -> Iterator[list[Replica]]:
    """Running replicas, `count` of them."""
    made = [Replica(running, index, kubeconfig, lifetimes) for index in range(number)]
    started: list[Replica] = []
    try:
        for one in made:
            one.start()
            started.append(one)
        yield made
    finally:
        for one in started:
            one.stop()


def entry(name: str, url: str) -> Object:
    """A webhook for ConfigMaps in the namespace `busy` that must answer."""
    return {
        "name": f"{name}.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
        "clientConfig": {"url": f"{url}/{name}"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "busy"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
    }


def configuration(path: str, entries: Sequence[Object]) -> Object:
    """A configuration as the chart renders it: without a `caBundle`."""
    kind = "MutatingWebhookConfiguration" if path == MUTATING else "ValidatingWebhookConfiguration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": NAME, "labels": {"app": NAME}},
        "webhooks": list(entries),
    }


def bundles(running: ControlPlaneOnly, path: str) -> dict[str, str | None]:
    """The `caBundle` of every entry of a configuration, by the entry's name."""
    found = running.api.get(path)
    return {hook["name"]: hook["clientConfig"].get("caBundle") for hook in found["webhooks"]}
