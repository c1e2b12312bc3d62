"""The chart's ClusterRole of each command suffices on a real API server, and a missing rule is named, one at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from charts.rights import READ, rules
from tests.cli.run import run
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.rights import RBAC, create_caller
from tests.cluster.harness.selection import parameters
from tests.cluster.harness.waiting import wait_for
from webhook.cluster.objects import NODE, POD, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Api, Object

ACCOUNT = "asker"
_SETTINGS = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["gpushare-webhook"], "verbs": ["get"]}
QUESTIONS = {
    "why": ("why", "pod/train", "-n", "default"),
    "top": ("top", "--by", "owner", "-A"),
    "audit": ("audit", "-A"),
    "plan": ("plan", "-A", "--enforce"),
    "doctor": ("doctor",),
}
BUILT_IN = ("", "apps", "batch", "node.k8s.io", "discovery.k8s.io", "admissionregistration.k8s.io")
MISSING = [
    (command, kind.plural) for command, kinds in READ.items() for kind in dict.fromkeys(kinds) if kind.group in BUILT_IN
]
ALWAYS = [("why", "events"), ("top", "pods"), ("audit", "deployments"), ("plan", "nodes"), ("doctor", "daemonsets")]


class Caller:
    """A service account with the rights of one command, and its kubeconfig."""

    def __init__(self, running: ControlPlaneOnly) -> None:
        self._api = running.api
        token = create_caller(running, ACCOUNT, [])
        self._as: Api = running.control.api_as(token)
        self.kubeconfig = running.control.write_kubeconfig(ACCOUNT, token)

    def grant(self, kinds: tuple[Kind, ...], without: str = "") -> None:
        """Grant the right to read these kinds, apart from one resource; wait until the API server applies it."""
        granted = [kind for kind in kinds if kind.plural != without]
        self._api.patch(f"{RBAC}/clusterroles/{ACCOUNT}", {"rules": [_SETTINGS, *rules(granted)]})
        for kind in (NODE, POD, *(kind for kind in kinds if kind.plural == without and kind.group in BUILT_IN)):
            wanted = 200 if kind in granted else 403
            if "/" not in kind.plural:
                wait_for("the rights", partial(self._has_status, kind, wanted))

    def _has_status(self, kind: Kind, wanted: int) -> bool:
        return self._as.request("GET", f"{kind.path()}?limit=1")[0] == wanted


@pytest.fixture(scope="module")
def caller(needs_control_plane: None) -> Iterator[Caller]:
    with control_plane(place=Loopback) as running:
        wait_for("the account of pods", lambda: running.api.find("/api/v1/namespaces/default/serviceaccounts/default"))
        running.api.create("/api/v1/namespaces/default/pods", pod("train"))
        yield Caller(running)


def forbidden(caller: Caller, command: str) -> list[str]:
    """What the command could not read for lack of a right."""
    ended = run(*QUESTIONS[command], "-o", "json", "--kubeconfig", str(caller.kubeconfig))
    assert "Traceback" not in ended.err
    if not ended.out:  # nothing at all could be read
        assert ended.code == 2
        return [line for line in ended.err.splitlines() if "403" in line]
    left: list[Object] = ended.json()["leftOut"]
    assert ended.code == 2 if ended.json()["unread"] and not ended.json().get("causes") else ended.code < 2
    found: list[Any] = [one["why"] for one in left if "403: not allowed" in one["why"]]
    return found


@pytest.mark.parametrize("command", READ)
def test_role_of_command_suffices(caller: Caller, command: str) -> None:
    caller.grant(READ[command])
    assert forbidden(caller, command) == []


@pytest.mark.parametrize("missing", parameters(MISSING, ALWAYS, "-".join))
def test_missing_rule_is_the_only_one_named(caller: Caller, missing: tuple[str, str]) -> None:
    command, plural = missing
    caller.grant(READ[command], without=plural)
    named = forbidden(caller, command)
    assert all(f"resources: [{plural}]" in one for one in named)
    assert named or missing not in ALWAYS
