"""The parameters of policies, written by a webhook process to a real API server with the rights of the chart."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.manifests import GPU, container, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.reviews import reviewer
from tests.cluster.harness.rights import ACCOUNT, create_account
from tests.cluster.harness.waiting import wait_for
from tests.cluster.policies.release import set_mode
from tests.cluster.sources import MPS, WHOLE
from webhook.inprocess.installation import PREFIX, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from tests.cluster.harness.reviews import Reviewer

CONTRACT = 3.0
"""Seconds within which the parameters have the mode of the annotation."""

RIGHTS = (("configmaps", "webhook", "watch"), ("serviceaccounts", f"webhook{SUFFIX}", "patch"))
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PATH = f"{ACCOUNTS}/webhook{SUFFIX}"
OTHER = {"meta.helm.sh/release-name": "x"}
SETTINGS: Object = {
    "policies": {"enabled": True},
    "facts": {"nodes": True},
    "injections": {"tolerations": {"fromNodes": ["team"]}},
}
HALF = pod("half", container(gpus=0, resources={"limits": {GPU: "0.5"}}))
"""A pod that a policy denies, regardless of the facts."""
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    with control_plane(place=Loopback) as started:
        yield started


@pytest.fixture(scope="module")
def kubeconfig(running: ControlPlaneOnly) -> Path:
    """The kubeconfig of an account with the rights of the chart. The objects exist, without parameters."""
    made = create_account(running)
    rules = [
        {"apiGroups": [""], "resources": [resource], "resourceNames": [name], "verbs": ["get", verb]}
        for resource, name, verb in RIGHTS
    ]
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    running.api.create(f"{roles}/roles", {"metadata": {"name": ACCOUNT}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
    subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}]
    running.api.create(f"{roles}/rolebindings", {"metadata": {"name": ACCOUNT}, "roleRef": role, "subjects": subjects})
    running.api.create(CONFIG_MAPS, {"metadata": {"name": "webhook"}})
    running.api.create(ACCOUNTS, {"metadata": {"name": f"webhook{SUFFIX}", "annotations": OTHER}})
    running.api.patch(f"{CONFIG_MAPS}/webhook", {"data": {"settings.yaml": _settings_text()}})
    return made


def _settings_text() -> str:
    return "policies: {enabled: true}\nfacts: {nodes: true}\ninjections: {tolerations: {fromNodes: [team]}}\n"


def _data(running: ControlPlaneOnly) -> dict[str, str]:
    """The parameters, beside the annotation that no replica writes."""
    annotations: dict[str, str] = running.api.get(PATH)["metadata"]["annotations"]
    assert annotations.items() >= OTHER.items()
    return {key.removeprefix(PREFIX): value for key, value in annotations.items() if key not in OTHER}


def test_parameters_follow_nodes_and_annotation(
    running: ControlPlaneOnly, kubeconfig: Path, record_property: Callable[[str, object], None]
) -> None:
    with (
        node_object(running, "mps-1", MPS, gpus=4, taints=(TAINT,)),
        reviewer(running, SETTINGS, kubeconfig, "default/webhook") as server,
    ):
        shared = {
            "mode": "enforce",
            "sharing": "mps",
            "limitMps": "1",
            "runtimeClass": "inject",
            "runtimeClassSelector": "",
            "tolerations": "team|NoSchedule",
        }
        wait_for("the parameters", lambda: _data(running) == shared)
        with node_object(running, "whole-1", WHOLE, gpus=4):
            wait_for("the whole node to show", lambda: "sharing" not in _data(running))
            assert "tolerations" not in _data(running)
        wait_for("the whole node to go", lambda: _data(running) == shared)

        set_mode(running, f"{CONFIG_MAPS}/webhook", "audit")
        began = time.monotonic()
        wait_for("the mode", lambda: _data(running)["mode"] == "audit", every=0.05)
        took = time.monotonic() - began
        record_property("mode in the parameters after", f"{took:.2f} s")
        assert took < CONTRACT
        set_mode(running, f"{CONFIG_MAPS}/webhook", None)
        wait_for("the mode to be lifted", lambda: _data(running) == shared)

        age = _age(server.health("/metrics")[1])
        assert 0 <= age < 90
        wait_for("the log", lambda: len(_written(server)) >= 5)  # each line follows the API server's response
    assert len(_written(server)) <= 8
    assert _data(running) == shared


def _written(server: Reviewer) -> list[Object]:
    return [entry for entry in server.log() if entry["event"] == "parameters written"]


def _age(page: str) -> float:
    name = "gpushare_webhook_parameters_age_seconds "
    return next(float(line.removeprefix(name)) for line in page.splitlines() if line.startswith(name))


def test_hook_denies_while_annotation_stops_policies(running: ControlPlaneOnly, kubeconfig: Path) -> None:
    with ExitStack() as afterwards:
        set_mode(running, PATH, "audit")
        afterwards.callback(set_mode, running, PATH, None)
        with reviewer(running, SETTINGS, kubeconfig, "default/webhook") as server:
            wait_for("the hook to deny", lambda: not server.pod(HALF).allowed)
            assert [denial[:6] for denial in server.pod(HALF).denials] == ["GPS003"]
            set_mode(running, PATH, None)
            # New facts make the webhook read the account at once. The node outlives it: its end would be written, too.
            afterwards.enter_context(node_object(running, "mps-1", MPS, gpus=4))
            wait_for("the hook to leave the code to policies", lambda: server.pod(HALF).allowed)


def test_parameters_wait_for_settings_of_release(running: ControlPlaneOnly, kubeconfig: Path) -> None:
    before = running.api.get(PATH)["metadata"]["resourceVersion"]
    running.api.delete(f"{CONFIG_MAPS}/webhook")
    with reviewer(running, SETTINGS, kubeconfig, "default/webhook") as server:
        wait_for("the log", lambda: any(one["event"] == "installed settings are missing" for one in server.log()))
        assert _age(server.health("/metrics")[1]) == -1
        assert running.api.get(PATH)["metadata"]["resourceVersion"] == before
        running.api.create(CONFIG_MAPS, {"metadata": {"name": "webhook"}, "data": {"settings.yaml": _settings_text()}})
        wait_for("the parameters", lambda: _age(server.health("/metrics")[1]) >= 0, seconds=90)
