"""What service accounts asked of the API server and what they were answered, by its audit log.

Those of the control plane's own controllers, which live in `kube-system`, are left out.
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
        """Whether a right was missing."""
        return self.code == 403


def flags(folder: Path) -> tuple[str, ...]:
    """What the API server is told; its policy is written into a folder, its log goes where its other output goes."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(_POLICY))
    return (f"--audit-policy-file={policy}", "--audit-log-path=-")


def requests(control: ControlPlane, namespace: str, account: str) -> list[Request]:
    """What a service account has asked so far, in order. A watch that goes on is there too."""
    user = f"system:serviceaccount:{namespace}:{account}"
    lines = control.processes["api-server"].log.read_text(errors="replace").splitlines()
    events = [json.loads(line) for line in lines if line.startswith('{"kind":"Event","apiVersion":"audit.k8s.io/')]
    return [_request(event) for event in events if event["user"]["username"] == user]


def _request(event: dict[str, dict[str, str]]) -> Request:
    asked = event.get("objectRef", {})
    resource = "/".join(filter(None, (asked.get("resource"), asked.get("subresource"))))
    status = event.get("responseStatus", {})
    return Request(str(event["verb"]), asked.get("apiGroup", ""), resource, asked.get("name", ""), int(status["code"]))
