"""Servers beside a real API server, and the configurations by which it calls them, one at a time."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.candidates import CONSTANT, TYPED, WEBHOOK
from bench.gotools import ToolsMissingError, go_program
from bench.machine import Machine
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.cluster import ControlPlaneOnly
from tests.cluster.harness.hooks import MUTATING, VALIDATING, Beside, hooks, product_process
from tests.cluster.harness.waiting import wait_for
from webhook.pki import Authority

_PEERS = Path(__file__).parent / "peers"
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_POLICIES = (f"{_GROUP}/mutatingadmissionpolicies", f"{_GROUP}/mutatingadmissionpolicybindings")
_CLASS = {"metadata": {"name": "nvidia"}, "handler": "nvidia"}
CONSTANT_PATCH = "constant patch"
_PORTS = {CONSTANT: 10251, CONSTANT_PATCH: 10252, TYPED: 10253}
_NAME = "same-edits"

Known = Callable[[], bool]
"""Whether the API server works as configured."""


@dataclass(frozen=True, slots=True)
class Places:
    """The servers that run beside the API server, by the name of their candidate, and why others do not."""

    running: ControlPlaneOnly
    servers: Mapping[str, Beside]
    skipped: Mapping[str, str]

    @contextmanager
    def nothing(self, known: Known) -> Iterator[None]:
        """No hook and no policy."""
        wait_for("no hook to be called", known)
        yield

    @contextmanager
    def webhook(self, name: str, known: Known, *, validates: bool = False) -> Iterator[None]:
        """The plain manifest's hooks, called at one of the servers."""
        which = (MUTATING, VALIDATING) if validates else (MUTATING,)
        with hooks(self.running, self.servers[name].client_config, known, which=which):
            yield

    @contextmanager
    def policy(self, known: Known) -> Iterator[None]:
        """A MutatingAdmissionPolicy that makes the webhook's edits, for the same pods."""
        (entry, *_) = product.mutating(b"")["webhooks"]
        spec = {
            "matchConstraints": {
                "resourceRules": entry["rules"],
                "namespaceSelector": entry["namespaceSelector"],
            },
            "matchConditions": entry["matchConditions"],
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": (_PEERS / "policy.cel").read_text()}}],
        }
        try:
            for path, body in zip(_POLICIES, (spec, {"policyName": _NAME}), strict=True):
                self.running.api.create(path, {"metadata": {"name": _NAME}, "spec": body})
            wait_for("the policy to be in force", known)
            yield
        finally:
            for path in reversed(_POLICIES):
                if self.running.api.find(f"{path}/{_NAME}") is not None:
                    self.running.api.delete(f"{path}/{_NAME}")


@contextmanager
def places(running: ControlPlaneOnly, machine: Machine, patch: str) -> Iterator[Places]:
    """Start all servers on the server's core; those that cannot be had are skipped with the reason.

    `patch` is the JSON patch that the server with a constant patch answers.
    """
    running.api.create("/apis/node.k8s.io/v1/runtimeclasses", _CLASS)
    with product_process(running) as ours:
        servers, skipped = {WEBHOOK: ours}, {}
        folder, authority = _certificate(running)
        address = running.place.address
        constant = [
            sys.executable,
            str(_PEERS / "constant.py"),
            str(folder / "tls.crt"),
            str(folder / "tls.key"),
            address,
        ]
        servers[CONSTANT] = _start(running, CONSTANT, authority, constant)
        servers[CONSTANT_PATCH] = _start(running, CONSTANT_PATCH, authority, constant, patch)
        try:
            program = go_program("peers/gowebhook")
        except ToolsMissingError as reason:
            skipped[TYPED] = str(reason)
        else:
            servers[TYPED] = _start(running, TYPED, authority, [str(program), str(folder), address])
        for name, server in servers.items():
            server.process.wait_until(f"{name} takes connections", lambda server=server: _takes_connections(server))  # type: ignore[misc]
            os.sched_setaffinity(server.process.pid, {machine.server})
        yield Places(running, servers, skipped)


def _certificate(running: ControlPlaneOnly) -> tuple[Path, Authority]:
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    authority = Authority.create("bench", now, lifetime)
    leaf = authority.sign([running.place.address], now, lifetime)
    folder = running.place.folder / "peers"
    folder.mkdir()
    (folder / "tls.crt").write_bytes(leaf.certificate)
    (folder / "tls.key").write_bytes(leaf.key)
    return folder, authority


def _start(running: ControlPlaneOnly, name: str, authority: Authority, command: list[str], *last: str) -> Beside:
    port = running.place.port(_PORTS[name])
    file = "".join(char if char.isalnum() else "-" for char in name)
    process = running.place.start(file, [*command, str(port), *last], environment={"GOMAXPROCS": "1"})
    return Beside(process, running.place, port, authority)


def _takes_connections(server: Beside) -> bool:
    trust = ssl.create_default_context(cadata=server.authority.bundle().decode())
    try:
        plain = server.place.connect(server.place.address, server.port, 5)
    except OSError:
        return False
    with trust.wrap_socket(plain, server_hostname=server.place.address):
        return True
