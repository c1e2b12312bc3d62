"""Policies in a control plane, as `gpushare-webhook export policies` writes them and kubectl applies them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import yaml

from tests.cli.run import run
from tests.cluster.harness.manifests import container, labelled, pod
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

_MARK = "policies-in-force"
_numbers = count()


def exported(folder: Path, settings: Object | None, *options: str) -> list[Object]:
    """The objects that the command writes for settings."""
    file = folder / "settings.json"
    file.write_text(json.dumps(settings or {"apiVersion": "gpushare-webhook/v1", "kind": "Settings"}))
    ended = run("export", "policies", "--config", file, *options)
    assert ended.code == 0, ended.err
    return [one for one in yaml.load_all(ended.out, yaml.CSafeLoader) if one]


@contextmanager
def installed(running: ControlPlaneOnly, objects: list[Object]) -> Iterator[None]:
    """Policies and bindings that are in force in the block, and no longer after it."""
    number = f"n{next(_numbers)}"
    markers = _markers(number)
    text = "---\n".join(json.dumps(one) + "\n" for one in [*objects, *markers])
    running.kubectl("apply", "--server-side", "-f", "-", manifest=text)
    try:
        wait_for("the policies to be in force", lambda: _marks(running, number) == (True, True), seconds=120)
        yield
    finally:
        running.kubectl("delete", "--wait=false", "-f", "-", manifest=text)
        wait_for("the policies to be forgotten", lambda: _marks(running, number) == (False, False), seconds=120)


def _marks(running: ControlPlaneOnly, number: str) -> tuple[bool, bool]:
    """Whether the marking policies of this number warn about a pod, and change it.

    The API server reads all policies again after a change, and the marking ones are created and deleted last.
    """
    probe = labelled(pod("probe", container(gpus=0)), **{_MARK: number})
    status, headers, body = running.api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", probe)
    assert status == 201, body
    warns = any(name.lower() == "warning" and _MARK in value for name, value in headers.items())
    return warns, _MARK in json.loads(body)["metadata"].get("annotations", {})


def _markers(number: str) -> list[Object]:
    """Policies that mark pods with a label of this number, with their bindings."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    selected: dict[str, Any] = {"objectSelector": {"matchLabels": {_MARK: number}}}
    matched = {"matchConstraints": {"resourceRules": [rule], **selected}}
    change = f"[JSONPatch{{op: 'add', path: '/metadata/annotations', value: {{'{_MARK}': 'yes'}}}}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": change}}]
    warns = {**matched, "validations": [{"expression": "false", "message": _MARK}]}
    changes = {
        **matched,
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": mutations,
    }
    name = f"{_MARK}-{number}"
    return [
        _object("ValidatingAdmissionPolicy", name, warns),
        _object("MutatingAdmissionPolicy", name, changes),
        _object("ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": ["Warn"]}),
        _object("MutatingAdmissionPolicyBinding", name, {"policyName": name}),
    ]


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
