"""The program of `helm test` where the API server enforces Pod Security without labels, as Talos does."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.chart.render import CHART, NAMESPACE, objects
from tests.cluster.harness.chart_hooks import chart_hooks
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.hooks import namespace
from tests.cluster.harness.manifests import CLASSES
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.place import Loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object

    Tested = Callable[[Object], tuple[int, str]]

ENFORCE = "pod-security.kubernetes.io/enforce"
NAMED = "Set config.podSecurity.unlabelled to the level that the API server enforces"
BASELINE = {"podSecurity": {"unlabelled": "baseline"}}
PATHS = {
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
}


@pytest.fixture(scope="module", params=["baseline", "restricted", "privileged"])
def enforcing(
    needs_control_plane: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlaneOnly, str]]:
    """A control plane whose default is a level, with the runtime class, and a namespace in which all is allowed."""
    head = {"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration"}
    plugin = {"name": "PodSecurity", "configuration": head | {"defaults": {"enforce": request.param}}}
    file = tmp_path_factory.mktemp("admission") / "admission.json"
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [plugin]}
    file.write_text(json.dumps(kind))
    options = ControlPlaneOptions(api_server_flags=(f"--admission-control-config-file={file}",))
    with (
        control_plane(options, place=Loopback) as started,
        started.api.created(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"}),
        namespace(started, "open", **{ENFORCE: "privileged"}),
        namespace(started, NAMESPACE),
    ):
        yield started, request.param


@pytest.fixture
def tested(
    enforcing: tuple[ControlPlaneOnly, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Tested:
    """Runs the program with the account, the rights and the environment that the chart gives it for these values."""
    running, _ = enforcing
    spec = importlib.util.spec_from_file_location("mutates", CHART / "files" / "mutates.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which would be a file of the chart
    spec.loader.exec_module(program)
    server = running.place.address

    def run(values: Object) -> tuple[int, str]:
        hooks = [one for one in objects(values) if "helm.sh/hook" in one["metadata"].get("annotations", {})]
        rights = [one for one in hooks if one["kind"] in PATHS]
        for one in rights:
            running.api.create(PATHS[one["kind"]].format(one["metadata"]["namespace"]), one)
        try:
            (pod,) = (one for one in hooks if one["kind"] == "Pod")
            token = running.kubectl("create", "token", pod["spec"]["serviceAccountName"], f"--namespace={NAMESPACE}")
            (tmp_path / "token").write_text(token.strip())
            (tmp_path / "ca.crt").write_bytes(running.control.authority.read_bytes())
            monkeypatch.setattr(program, "ACCOUNT", tmp_path)
            for entry in pod["spec"]["containers"][0]["env"]:
                monkeypatch.setenv(entry["name"], entry["value"])
            monkeypatch.setenv("KUBERNETES_SERVICE_HOST", server)
            monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(running.control.port))
            code = program.main()
        finally:
            for one in rights:
                running.api.delete(
                    f"{PATHS[one['kind']].format(one['metadata']['namespace'])}/{one['metadata']['name']}"
                )
        return code, capsys.readouterr().out

    return run


def test_helm_test_names_setting_where_pod_security_refuses_mount(
    enforcing: tuple[ControlPlaneOnly, str], tested: Tested
) -> None:
    running, level = enforcing
    with chart_hooks(running, probed="open"):
        code, said = tested({})
    if level == "privileged":
        assert (code, said) == (0, "the webhook answers\n")
        return
    assert code == 1
    assert f'violates PodSecurity "{level}:latest"' in said
    assert NAMED in said


def test_helm_test_names_setting_where_injections_are_only_reported(
    enforcing: tuple[ControlPlaneOnly, str], tested: Tested
) -> None:
    running, level = enforcing
    settings = {"injections": {"mode": "report"}}
    with chart_hooks(running, settings, probed="open"):
        code, said = tested({"config": settings})
    assert (code, NAMED in said) == ((0, False) if level == "privileged" else (1, True))


def test_helm_test_passes_with_level_of_api_server(enforcing: tuple[ControlPlaneOnly, str], tested: Tested) -> None:
    running, _ = enforcing
    with chart_hooks(running, BASELINE, probed="open"):
        assert tested({"config": BASELINE}) == (0, "the webhook answers\n")


def test_helm_test_says_that_label_hides_default(enforcing: tuple[ControlPlaneOnly, str], tested: Tested) -> None:
    running, _ = enforcing
    with chart_hooks(running, probed="open"):
        code, said = tested({"test": {"namespace": "open"}})
    assert code == 0
    assert f"The default of Pod Security was not tested: namespace open has {ENFORCE}." in said
