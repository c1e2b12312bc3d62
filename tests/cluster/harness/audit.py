"""The requests of service accounts and the answers of the API server, from its audit log.

Requests of the control plane's own controllers, in `kube-system`, are left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.harness.controlplane import ControlPlane

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
    ],
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a service account: `resource` as RBAC writes it, `code` as HTTP."""

    verb: str
    group: str
    resource: str
    name: str
    code: int

    @property
    def refused(self) -> bool:
        """Whether the API server denied it for a missing right."""
        return self.code == 403


def flags(folder: Path) -> tuple[str, ...]:
    """The API server's audit flags; the policy is written to a folder, and the log goes to the API server's own log."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(_POLICY))
    return (f"--audit-policy-file={policy}", "--audit-log-path=-")


def requests(control: ControlPlane, namespace: str, account: str) -> list[Request]:
    """The requests of a service account so far, in order, including watches that are still open."""
    user = f"system:serviceaccount:{namespace}:{account}"
    lines = control.processes["api-server"].log.read_text(errors="replace").splitlines()
    events = [json.loads(line) for line in lines if line.startswith('{"kind":"Event","apiVersion":"audit.k8s.io/')]
    return [_request(event) for event in events if event["user"]["username"] == user]


def _request(event: dict[str, dict[str, str]]) -> Request:
    asked = event.get("objectRef", {})
    resource = "/".join(filter(None, (asked.get("resource"), asked.get("subresource"))))
    status = event.get("responseStatus", {})
    return Request(str(event["verb"]), asked.get("apiGroup", ""), resource, asked.get("name", ""), int(status["code"]))
