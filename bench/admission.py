"""Servers next to a real API server, which calls each of them for pods with its label."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from bench.candidates import CONSTANT, TYPED, WEBHOOK
from bench.gotools import ToolsMissingError, go_program
from bench.machine import Machine
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.cluster import ControlPlaneOnly
from tests.cluster.harness.hooks import MUTATING, VALIDATING, LocalWebhook, local_webhook_process
from tests.cluster.harness.interpreters import image
from webhook.dryrun.files import configuration
from webhook.guard import exported
from webhook.pki import Authority
from webhook.settings.configuration import view

CONSTANT_PATCH = "constant patch"

_PEERS = Path(__file__).parent / "peers"
_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
_PORTS = {CONSTANT: 10251, CONSTANT_PATCH: 10252, TYPED: 10253}
_LABEL = "bench"
_GUARD = {
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "ServiceAccount": "/api/v1/namespaces/default/serviceaccounts",
}
"""The paths of its objects."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers next to an API server, by name, and the reasons why others are skipped."""

    running: ControlPlaneOnly
    beside: Mapping[str, LocalWebhook]
    skipped: Mapping[str, str]

    def call_to_mutate(self, name: str, label: str) -> None:
        """Configure the API server to call a server, like the webhook, for pods with a label."""
        self._configure(MUTATING, product.mutating(b""), name, label)

    def call_to_validate(self, name: str, label: str) -> None:
        """Configure it to call a server's validating webhook too."""
        self._configure(VALIDATING, product.validating(b""), name, label)

    def _configure(self, path: str, configuration: Any, name: str, label: str) -> None:
        (entry, *_) = configuration["webhooks"]
        entry |= {
            "clientConfig": self.beside[name].client_config(entry),
            "objectSelector": _selecting(label),
            # Otherwise a failed call would count as a fast one.
            "failurePolicy": "Fail",
        }
        self.running.api.create(path, configuration | {"metadata": {"name": label}, "webhooks": [entry]})

    def apply_guard(self, label: str) -> None:
        """Let the API server check pods with a label by the guard, as `export guard` writes it."""
        for one in yaml.safe_load_all(exported(view(configuration(None)), "default", label)):
            if one["kind"] == "ValidatingAdmissionPolicyBinding":
                one["spec"]["matchResources"]["namespaceSelector"] = {}  # the guard leaves out its own namespace
                one["spec"]["matchResources"]["objectSelector"] = _selecting(label)
            self.running.api.create(_GUARD[one["kind"]], one)


def labelled(pod: Any, label: str) -> Any:
    """The pod with the label of a server."""
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], _LABEL: label}}}


def _selecting(label: str) -> Any:
    return {"matchLabels": {_LABEL: label}}


@contextmanager
def servers(running: ControlPlaneOnly, machine: Machine, patch: str) -> Iterator[Servers]:
    """Start all servers on the server's core; those that are not available are skipped with the reason.

    `patch` is the JSON patch that the server with a constant patch answers.
    """
    running.api.create(_CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
    python = image()
    with local_webhook_process(running, interpreter=python) as ours:
        beside, skipped = {WEBHOOK: ours}, {}
        folder, authority = _certificate(running)
        constant = [*python.command, str(_PEERS / "constant.py"), str(folder / "tls.crt"), str(folder / "tls.key")]
        start = partial(_start, running, authority)
        beside[CONSTANT] = start(CONSTANT, python.environment, constant)
        beside[CONSTANT_PATCH] = start(CONSTANT_PATCH, python.environment, constant, patch)
        try:
            program = go_program("peers/gowebhook")
        except ToolsMissingError as reason:
            skipped[TYPED] = str(reason)
        else:
            beside[TYPED] = start(TYPED, {"GOMAXPROCS": "1"}, [str(program), str(folder)])
        for name, server in beside.items():
            server.process.wait_until(f"{name} takes connections", lambda server=server: _takes_connections(server))  # type: ignore[misc]
            os.sched_setaffinity(server.process.pid, {machine.server})
        yield Servers(running, beside, skipped)


def _certificate(running: ControlPlaneOnly) -> tuple[Path, Authority]:
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    authority = Authority.create("bench", now, lifetime)
    leaf = authority.sign([running.place.address], now, lifetime)
    folder = running.place.folder / "peers"
    folder.mkdir()
    (folder / "tls.crt").write_bytes(leaf.certificate)
    (folder / "tls.key").write_bytes(leaf.key)
    return folder, authority


def _start(
    running: ControlPlaneOnly,
    authority: Authority,
    name: str,
    variables: Mapping[str, str],
    command: list[str],
    *last: str,
) -> LocalWebhook:
    port = running.place.port(_PORTS[name])
    whole = [*command, running.place.address, str(port), *last]
    process = running.place.start(name.replace(" ", "-"), whole, environment=variables)
    return LocalWebhook(process, running.place, port, 0, authority)


def _takes_connections(server: LocalWebhook) -> bool:
    trust = ssl.create_default_context(cadata=server.authority.bundle().decode())
    try:
        plain = server.place.connect(server.place.address, server.port, 5)
    except OSError:
        return False
    with trust.wrap_socket(plain, server_hostname=server.place.address):
        return True
