"""The chart under limits of real API servers: limited priority classes, and installers without rights."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.chart import render
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import MUTATING, VALIDATING, namespace
from tests.cluster.harness.options import ControlPlaneOptions
from tests.cluster.harness.release import CHART, NAME, RELEASE
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object

CRITICAL = ["system-node-critical", "system-cluster-critical"]
EXEMPT = ["gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin"]
INSTALL = ("install", RELEASE, str(CHART), f"--set=image.registry={render.REGISTRY}")
DRY = (*INSTALL, "--dry-run=server")


@pytest.fixture(scope="module")
def running(needs_control_plane: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlaneOnly]:
    """A control plane that admits pods of the critical classes only where a quota counts them, as GKE does."""
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": CRITICAL}
    flag = _limited_to_quotas(tmp_path_factory.mktemp("admission"), scope)
    with control_plane(ControlPlaneOptions(api_server_flags=(flag,), controller_manager_flags=())) as started:
        yield started


def _limited_to_quotas(folder: Path, scope: Object) -> str:
    """The API server's flag for `limitedResources` (kubernetes.io, "Limit Priority Class consumption by default")."""
    head = {"apiVersion": "apiserver.config.k8s.io/v1"}
    limited = [{"resource": "pods", "matchScopes": [scope]}]
    quota = head | {"kind": "ResourceQuotaConfiguration", "limitedResources": limited}
    plugins = [{"name": "ResourceQuota", "configuration": quota}]
    file = folder / "admission.json"
    file.write_text(json.dumps(head | {"kind": "AdmissionConfiguration", "plugins": plugins}))
    return f"--admission-control-config-file={file}"


@contextmanager
def _installed(running: ControlPlaneOnly, name: str, *flags: str) -> Iterator[str]:
    """The chart in a namespace of its own, whose path this yields, without a node to run its pods."""
    helm = Helm(running, name)
    with namespace(running, name) as path:
        helm(*INSTALL, *flags)
        try:
            yield path
        finally:
            helm("uninstall", RELEASE)


def test_limited_priority_class_is_rejected_without_quota(running: ControlPlaneOnly) -> None:
    with _installed(running, "refused", "--set=resourceQuota.enabled=false") as path:

        def refused() -> list[str]:
            events = running.api.items(f"{path}/events")
            return [one["message"] for one in events if one["reason"] == "FailedCreate"]

        (message, *_) = wait_for("the pods to be rejected", refused)
        assert "insufficient quota to match these scopes" in message
        assert running.api.items(f"{path}/pods") == []


def test_quota_of_chart_admits_limited_priority_class(running: ControlPlaneOnly) -> None:
    with _installed(running, "admitted") as path:
        wait_for("both replicas", lambda: len(running.api.items(f"{path}/pods")) == 2)
        counted = running.api.wait_for(
            f"{path}/resourcequotas/{NAME}",
            "to count them",
            lambda quota: quota.get("status", {}).get("used") == {"pods": "2"},
        )
        assert counted["status"]["hard"] == {"pods": "100"}
        other = {"metadata": {"name": "other"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
        running.api.create(f"{path}/pods", other)
        running.kubectl("rollout", "restart", "--namespace=admitted", f"deployment/{NAME}")
        wait_for("the first pod of the update", lambda: len(running.api.items(f"{path}/pods")) == 4)


@pytest.mark.parametrize("mode", render.MODES)
def test_every_object_passes_strict_validation(running: ControlPlaneOnly, mode: str) -> None:
    """All but the kinds of the Prometheus operator and cert-manager, whose definitions are not installed here."""
    foreign = ("monitoring.coreos.com/", "cert-manager.io/")
    found = [
        one for one in render.objects(mode, namespace=f"strict-{mode}") if not one["apiVersion"].startswith(foreign)
    ]
    assert len(found) > 3
    with ExitStack() as stack:
        for space in {one["metadata"].get("namespace", "default") for one in found} - {"default"}:
            stack.enter_context(namespace(running, space))
        # The pod of `helm test` needs its account.
        accounts = [one for one in found if one["kind"] == "ServiceAccount"]
        others = [_in_ipv4(one) for one in found if one["kind"] != "ServiceAccount"]
        for items, dry in ((accounts, []), (others, ["--dry-run=server"])):
            if items:
                manifest = {"apiVersion": "v1", "kind": "List", "items": items}
                running.kubectl("create", *dry, "--validate=strict", "--filename=-", manifest=manifest)


def _in_ipv4(manifest: Object) -> Object:
    """The manifest for a cluster that has only IPv4."""
    spec = manifest.get("spec", {})
    return manifest | {"spec": spec | {"ipFamilies": ["IPv4"]}} if "ipFamilies" in spec else manifest


def test_notes_name_missing_exempt_namespaces(running: ControlPlaneOnly) -> None:
    helm = Helm(running, "gpu-admission")
    # Other tests on this control plane delete namespaces of these names, which takes seconds.
    paths = [f"/api/v1/namespaces/{name}" for name in EXEMPT]
    wait_for("earlier namespaces to be gone", lambda: not any(running.api.find(path) for path in paths))
    with namespace(running, EXEMPT[0]):
        said = helm(*DRY)
        assert f"WARNING: these exempt namespaces do not exist, so users who may create namespaces {_BYPASS}" in said
        assert f"{EXEMPT[1]}, {EXEMPT[2]}. Create them" in said
        with namespace(running, EXEMPT[1]), namespace(running, EXEMPT[2]):
            assert "WARNING" not in helm(*DRY)
        there = f"--set-json=config.exempt.namespaces={json.dumps(['kube-system', EXEMPT[0]])}"
        assert "WARNING" not in helm(*DRY, there)
    assert "WARNING" not in helm(*INSTALL, "--dry-run=client")


_BYPASS = "can create them and bypass the webhook: "


@contextmanager
def _installer(running: ControlPlaneOnly) -> Iterator[tuple[str, ...]]:
    """Helm's flags for a user who may do all but read namespaces."""
    kinds = ["secrets", "configmaps", "services", "serviceaccounts", "resourcequotas", "pods"]
    groups = ["apps", "policy", "node.k8s.io", "rbac.authorization.k8s.io", "admissionregistration.k8s.io"]
    every = {"resources": ["*"], "verbs": ["*"]}
    rules = [{"apiGroups": [""], "resources": kinds, "verbs": ["*"]}, {"apiGroups": groups} | every]
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "installer"}
    binding = {"metadata": {"name": "installer"}, "roleRef": role, "subjects": [subject]}
    with (
        running.api.created(f"{rbac}/clusterroles", {"metadata": {"name": "installer"}, "rules": rules}),
        running.api.created(f"{rbac}/clusterrolebindings", binding),
    ):
        yield ("--kube-as-user=installer",)


def test_installer_without_right_to_get_namespaces(running: ControlPlaneOnly) -> None:
    """Helm cannot catch a forbidden lookup, so the message names the value that switches it off."""
    helm = Helm(running, "limited")
    with _installer(running) as flags, namespace(running, "limited") as path:
        with pytest.raises(RuntimeError) as refused:
            helm(*INSTALL, *flags)
        assert 'cannot get resource "namespaces"' in str(refused.value)
        assert "needs the right to get namespaces, or checkNamespaces=false" in str(refused.value)
        assert running.api.items(f"{path}/services") == []
        said = helm(*INSTALL, *flags, "--set=checkNamespaces=false")
        assert "is installed as" in said
        assert "WARNING" not in said
        helm("uninstall", RELEASE, *flags)


BUNDLE = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "LS0t"}]
WIDER: dict[str, list[Object]] = yaml.safe_load((Path(__file__).parent / "wider-patches.yaml").read_text())
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
REJECTED = f"the service account of {NAME} may change only caBundle"
OTHER_POLICY = {"Fail": "Ignore", "Ignore": "Fail"}


@pytest.mark.parametrize("path", [MUTATING, VALIDATING], ids=["mutating", "validating"])
def test_policy_limits_patches_to_bundle(running: ControlPlaneOnly, path: str) -> None:
    """The API server rejects all that a compromised replica could do with the right to patch its configurations."""
    name = path.rpartition("/")[2].removesuffix("webhookconfigurations")
    with _installed(running, f"limits-{name}", "--set=rbac.limitPatches=true"):
        account = f"--as=system:serviceaccount:limits-{name}:{NAME}"
        before = running.api.get(f"{path}/{NAME}")
        policy = OTHER_POLICY[before["webhooks"][0]["failurePolicy"]]
        reinvocation = [{"op": "replace", "path": "/webhooks/0/reinvocationPolicy", "value": "Never"}]
        wider = WIDER | ({"reinvocation": reinvocation} if path == MUTATING else {})

        def answer(patch: list[Object], *flags: str) -> str:
            text = json.dumps(patch).replace("POLICY", policy)
            command = ("patch", path.rpartition("/")[2], NAME, account, "--type=json", f"--patch={text}")
            done = running.kubectl.run(*command, *flags)
            return done.stderr if done.returncode else ""

        def tried(patch: list[Object]) -> str:
            return answer(patch, "--dry-run=server")

        checked = running.api.wait_for(
            f"{POLICIES}/{NAME}", "to be checked", lambda found: "observedGeneration" in found.get("status", {})
        )
        assert "expressionWarnings" not in checked["status"].get("typeChecking", {})
        wait_for("the policy to be in force", lambda: REJECTED in tried(wider["label"]))
        assert {change: said for change, patch in wider.items() if REJECTED not in (said := tried(patch))} == {}
        assert answer(BUNDLE) == ""
        after = running.api.get(f"{path}/{NAME}")
        assert after["webhooks"][0]["clientConfig"].pop("caBundle") == "LS0t"
        assert after["webhooks"] == before["webhooks"]
        assert after["metadata"]["labels"] == before["metadata"]["labels"]
