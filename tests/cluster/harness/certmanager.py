"""cert-manager beside the control plane: its controllers and its cainjector, each with rights of its own.

Its webhook, which validates and defaults cert-manager's own objects, is left out: nothing here depends on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

from tests.cluster.harness import gobuild
from tests.cluster.harness.rights import RBAC, create_caller
from tests.cluster.harness.waiting import met, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.process import Process

NAMESPACE = "cert-manager"
GROUP = "cert-manager.io"

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete"]
_KINDS = ["certificates", "certificaterequests", "issuers", "clusterissuers"]

# What cert-manager's own chart grants, as far as the controllers that run here go.
RIGHTS = {
    "controller": [
        (GROUP, _KINDS, _READ),
        (GROUP, [*_KINDS, *(f"{kind}/status" for kind in _KINDS)], ["update", "patch"]),
        (GROUP, ["certificates/finalizers", "certificaterequests/finalizers"], ["update"]),
        (GROUP, ["certificaterequests"], ["create", "delete"]),
        (GROUP, ["signers"], ["approve"]),
        ("", ["secrets"], [*_READ, *_WRITE]),
        ("", ["events"], ["create", "patch"]),
    ],
    "cainjector": [
        (GROUP, ["certificates"], _READ),
        ("", ["secrets"], _READ),
        (
            "admissionregistration.k8s.io",
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            [*_READ, "update", "patch"],
        ),
    ],
}


@contextmanager
def cert_manager(running: ControlPlaneOnly) -> Iterator[dict[str, Process]]:
    """cert-manager for the time of the context, ready to issue; yields its processes by name and removes everything.

    Raises `ToolsMissingError`.
    """
    built = gobuild.cert_manager().find()
    definitions = [yaml.safe_load(file.read_text()) for file in sorted((built / "crds").iterdir())]
    processes: dict[str, Process] = {}
    try:
        _define(running, definitions)
        running.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for role, rights in RIGHTS.items():
            kubeconfig = _account(running, role, rights)
            command = [str(built / role), f"--kubeconfig={kubeconfig}"]
            processes[role] = running.place.start(f"cert-manager-{role}", command)
        _wait_issuing(running, processes["controller"])
        yield processes
    finally:
        for process in processes.values():
            process.stop()
        _remove(running, definitions)


def renew(running: ControlPlaneOnly, namespace: str, name: str) -> None:
    """Renew a Certificate now, as `cmctl renew` does: by setting its condition `Issuing`."""
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/certificates/{name}"
    conditions = running.api.get(path)["status"]["conditions"]
    issuing = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test"}
    kept = [one for one in conditions if one["type"] != issuing["type"]]
    running.api.patch(f"{path}/status", {"status": {"conditions": [*kept, issuing]}})


def _define(running: ControlPlaneOnly, definitions: list[Object]) -> None:
    for definition in definitions:
        running.api.create(_DEFINITIONS, definition)
    for definition in definitions:
        path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
        running.api.wait_for(path, "to be served", lambda now: met(now, "Established"))


def _account(running: ControlPlaneOnly, role: str, rights: list[tuple[str, list[str], list[str]]]) -> Path:
    """A service account with these rights alone; returns a kubeconfig for it."""
    name = f"cert-manager-{role}"
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in rights]
    return running.control.write_kubeconfig(name, create_caller(running, name, rules, NAMESPACE))


def _wait_issuing(running: ControlPlaneOnly, controller: Process) -> None:
    """Wait until the controllers process an issuer."""
    issuers = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/issuers"
    running.api.create(issuers, issuer("probe", {"selfSigned": {}}))
    controller.wait_until("it takes up an issuer", lambda: met(running.api.get(f"{issuers}/probe"), "Ready"))
    running.api.delete(f"{issuers}/probe")


def _remove(running: ControlPlaneOnly, definitions: list[Object]) -> None:
    kinds = ("clusterrolebindings", "clusterroles")
    roles = [f"{RBAC}/{kind}/cert-manager-{role}" for kind in kinds for role in RIGHTS]
    defined = [f"{_DEFINITIONS}/{one['metadata']['name']}" for one in definitions]
    paths = [*roles, *defined, f"/api/v1/namespaces/{NAMESPACE}"]
    for path in paths:
        if running.api.find(path) is not None:
            running.api.delete(path)
    # The API server empties a kind before it forgets it, and then looks every five seconds for a minute.
    wait_for("cert-manager to be gone", lambda: [path for path in paths if running.api.find(path)] == [], seconds=120)


def issuer(name: str, kind: Object) -> Object:
    """An Issuer that signs in one way: `{"selfSigned": {}}` or `{"ca": {"secretName": …}}`."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Issuer", "metadata": {"name": name}, "spec": kind}
