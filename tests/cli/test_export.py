"""`export guard`: the objects, which settings allow them, and wrong usage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import run

KINDS = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]


def _objects(*options: str | Path) -> list[Any]:
    ended = run("export", "guard", *options)
    assert (ended.code, ended.err) == (0, "")
    return list(yaml.safe_load_all(ended.out))


def _settings(folder: Path, text: str) -> Path:
    file = folder / "settings.yaml"
    file.write_text(text)
    return file


def test_guard_of_release_obeys_its_mode() -> None:
    policy, binding, account = _objects("--config=/dev/null", "--installed-as=gpus/own")
    assert [one["kind"] for one in (policy, binding, account)] == [*KINDS, "ServiceAccount"]
    assert {one["metadata"]["name"] for one in (policy, binding)} == {binding["spec"]["policyName"]} == {"own-guard"}
    assert account["metadata"] == {"name": "own-mode", "namespace": "gpus"}
    assert binding["spec"]["paramRef"] == {**account["metadata"], "parameterNotFoundAction": "Allow"}
    assert policy["spec"]["paramKind"] == {key: account[key] for key in ("apiVersion", "kind")}
    (expression,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert expression["values"][:3] == ["gpus", "kube-system", "kube-node-lease"]


def test_static_guard_reads_no_objects() -> None:
    policy, binding = _objects("--config=/dev/null", "--static")
    assert [one["kind"] for one in (policy, binding)] == KINDS
    assert policy["metadata"]["name"] == "gpushare-webhook-guard.static.k8s.io"
    assert not {"paramKind", "paramRef"} & {*policy["spec"], *binding["spec"]}
    assert "params" not in str(policy)


def test_guard_holds_literals_of_settings(tmp_path: Path) -> None:
    text = "limits: {perContainer: 3, perPod: 7}\nnamespaces: [{names: ['team-*'], mode: warn}]"
    policy, *_ = _objects("--config", _settings(tmp_path, text))
    variables = {one["name"]: one["expression"] for one in policy["spec"]["variables"]}
    assert (variables["perContainer"], variables["perPod"]) == ("3", "7")
    assert '["team-*"].exists(' in str(policy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mode: audit", "these settings allow no guard: mode is audit\n"),
        (
            "facts: {nodes: true}",
            "facts.nodes is set; if a node that shares through MPS is always there, set guard.enabled: true\n",
        ),
        ("facts: {nodes: true}\nexempt: {label: a}", "exempt.label is set\n"),
        ("facts: {nodes: true}\nguard: {enabled: true}\nlimits: {fromDevicePlugin: true}", "fromDevicePlugin is set\n"),
    ],
)
def test_settings_without_guard_are_rejected(tmp_path: Path, text: str, message: str) -> None:
    ended = run("export", "guard", "--config", _settings(tmp_path, text))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(message)


def test_administrator_asks_for_guard_beside_facts(tmp_path: Path) -> None:
    assert _objects("--config", _settings(tmp_path, "facts: {nodes: true}\nguard: {enabled: true}"))


def test_profile_decides_too() -> None:
    assert "no resource is shared" in run("export", "guard", "--config=/dev/null", "--profile=dra").err


def test_wrong_name_of_release_is_rejected() -> None:
    ended = run("export", "guard", "--config=/dev/null", "--installed-as=own")
    assert (ended.code, ended.out) == (2, "")
    assert "--installed-as" in ended.err


def test_view_says_why_settings_allow_no_guard(tmp_path: Path) -> None:
    line = "# These settings allow no guard in the API server: exempt.label is set.\n"
    assert line in run("config", "view", "--config", _settings(tmp_path, "exempt: {label: a}")).out
    assert "guard in the API server" not in run("config", "view", "--config=/dev/null").out
