"""What is rendered in every mode: whole, the same each time, nothing left to the API server to fill or to refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.chart.render import (
    CHART,
    FULLNAME,
    MODES,
    NAMESPACE,
    RELEASE,
    WEBHOOK_MODES,
    RefusedError,
    Values,
    helm,
    is_test,
    objects,
    of_kind,
    only,
    pod_spec,
    render,
    rendered,
    service,
    undigested,
)
from tests.chart.snapshots import current, stored
from webhook import __version__
from webhook.cluster.installations import MADE, RENDER

pytestmark = pytest.mark.slow

CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}


@pytest.mark.parametrize("mode", MODES)
def test_helm_lint_passes(mode: str) -> None:
    said = helm("lint", "--strict", str(CHART), "--namespace", NAMESPACE, values=mode)
    assert re.findall(r"\[(?:WARNING|ERROR)\].*", said) == []


def test_rendering_matches_snapshots() -> None:
    assert current() == stored()


@pytest.mark.parametrize("mode", ["default", "everything", "guard-only"])
def test_command_and_engine_render_the_same_text(mode: str) -> None:
    again = helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--kube-version", "1.36.0", values=mode)
    assert again == rendered(mode)


def actions(pattern: str) -> list[tuple[str, str]]:
    """The template actions that match a pattern, each with the name of its file."""
    templates = [file for folder in ("templates", "files") for file in (CHART / folder).rglob("*") if file.is_file()]
    code = {file.name: re.findall(r"\{\{(?!-? ?/\*).*?\}\}", file.read_text(), re.DOTALL) for file in templates}
    assert len(code) > 20
    return [(name, action) for name, found in code.items() for action in found if re.search(pattern, action)]


def test_templates_use_no_random_and_no_time() -> None:
    made = r"rand\w+|genCA|genSignedCert|genSelfSignedCert|genPrivateKey|uuidv4|now|htpasswd"
    assert actions(rf"(?<![$.\"])\b({made})\b") == []


def test_only_notes_use_lookup() -> None:
    found = actions(r"\blookup\b")
    assert [name for name, _ in found] == ["_warnings.tpl"] * 2
    (define,) = {name for name, action in actions("define .*missingNamespaces")}
    assert define == "_warnings.tpl"
    assert [name for name, _ in actions(r'include "gpushare-webhook\.missingNamespaces')] == ["_warnings.tpl"]
    assert [name for name, _ in actions(r'include "gpushare-webhook\.warnings')] == ["NOTES.txt"]


def test_only_helm_commands_use_release_namespace() -> None:
    found = {(name, action) for name, action in actions(r"\.Release\.Namespace") if name != "_names.tpl"}
    assert found == {("NOTES.txt", "{{ .Release.Namespace }}")}


@pytest.mark.parametrize("mode", MODES)
def test_namespace_override_moves_every_object(mode: str) -> None:
    values = yaml.safe_load((CHART / "ci" / f"{mode}-values.yaml").read_text()) or {}
    moved = rendered(values | {"namespaceOverride": "elsewhere"})
    assert undigested(moved) == undigested(rendered(mode, namespace="elsewhere"))


def nulls(node: Any, path: str = "") -> Iterator[str]:
    if node is None:
        yield path
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from nulls(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nulls(value, f"{path}/{index}")


@pytest.mark.parametrize("mode", MODES)
def test_rendered_objects_contain_no_null_or_empty_field(mode: str) -> None:
    for manifest in objects(mode):
        assert list(nulls(manifest)) == [], manifest["kind"]
        empty = [key for key, value in manifest.get("spec", {}).items() if value in ("", {}, [])]
        assert empty in ([], ["selfSigned"], ["egress"]), manifest["kind"]
    assert "<no value>" not in rendered(mode)


@pytest.mark.parametrize("mode", MODES)
def test_every_object_has_namespace_and_labels(mode: str) -> None:
    found = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects(mode)]
    assert len(set(found)) == len(found)
    for manifest in objects(mode):
        if manifest["metadata"]["name"].endswith(("-extra", "-text")):
            continue
        assert ("namespace" not in manifest["metadata"]) is (manifest["kind"] in CLUSTER_WIDE)
        if is_test(manifest):
            continue
        if not manifest["metadata"]["name"].endswith("-device-plugin"):
            assert manifest["metadata"].get("namespace") in (None, NAMESPACE)
        assert manifest["metadata"]["name"].startswith((FULLNAME, "shared"))
        labels = manifest["metadata"]["labels"]
        assert labels["app.kubernetes.io/version"] == __version__
        assert labels["app.kubernetes.io/managed-by"] == "Helm"


def renders(values: str | Values) -> dict[tuple[str, str], set[str]]:
    """The renders of the chart's objects, by version and kind; objects of the user and of `helm test` have none."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in objects(values):
        render = one["metadata"].get("annotations", {}).get(RENDER, "")
        if is_test(one) or one["metadata"]["name"].endswith(("-extra", "-text")):
            assert not render
        else:
            found.setdefault((one["apiVersion"], one["kind"]), set()).add(render)
    return found


def test_objects_of_the_chart_have_the_same_render() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for mode in MODES:
        of_mode = renders(mode)
        (render,) = set().union(*of_mode.values())
        assert re.fullmatch(rf"{NAMESPACE}/{FULLNAME}@[0-9a-f]{{16}}", render)
        found |= of_mode
    # `doctor` lists no Secrets and no ConfigMaps.
    assert found.keys() == {(one.api_version, one.kind) for one in MADE} | {("v1", "Secret"), ("v1", "ConfigMap")}


def test_render_changes_with_values_and_starts_no_rollout() -> None:
    former, present = ({"service": {"annotations": {"a": value, RENDER: "mine"}}} for value in ("1", "2"))
    assert renders(former) != renders(present)
    one, other = (only("Deployment", values) for values in (former, present))
    assert one["spec"] == other["spec"]


@pytest.mark.parametrize("mode", WEBHOOK_MODES)
def test_selectors_match_only_webhook_pods(mode: str) -> None:
    template = only("Deployment", mode)["spec"]["template"]
    selectors = [only("Deployment", mode)["spec"]["selector"]["matchLabels"]]
    selectors += [one["spec"]["selector"] for one in of_kind("Service", mode)]
    for kind in ("PodDisruptionBudget", "PodMonitor"):
        selectors += [one["spec"]["selector"]["matchLabels"] for one in of_kind(kind, mode)]
    selectors += [one["spec"]["podSelector"]["matchLabels"] for one in of_kind("NetworkPolicy", mode)]
    selectors += [one["labelSelector"]["matchLabels"] for one in pod_spec(mode).get("topologySpreadConstraints", [])]
    for selector in selectors:
        assert selector.items() <= template["metadata"]["labels"].items()
        for pod in of_kind("Pod", mode):
            assert not selector.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("release", "values", "name"),
    [
        ("shared", {}, "shared-gpushare-webhook"),
        ("gpushare-webhook", {}, "gpushare-webhook"),
        ("my-gpushare-webhook", {}, "my-gpushare-webhook"),
        ("shared", {"nameOverride": "gpus"}, "shared-gpus"),
        ("shared", {"fullnameOverride": "gpus"}, "gpus"),
        ("a" * 53, {}, "a" * 50),
        ("a" * 49, {}, "a" * 49),
    ],
)
def test_names_derive_from_release(release: str, values: dict[str, str], name: str) -> None:
    made = render(values, release=release)
    text = made.text
    assert f"--installed-as=gpus/{name}\n" in text
    assert f"resourceNames: [{name}-ca]\n" in text
    assert f"  name: {name}-ca\n" in text
    names = [one["metadata"]["name"] for one in made.objects]
    assert [name for name in names if len(name) > 63] == []


def test_numeric_release_and_namespace_stay_strings() -> None:
    text = rendered({"fullnameOverride": "gpus"}, release="12345", namespace="678")
    assert 'namespace: "678"' in text
    assert 'app.kubernetes.io/instance: "12345"' in text
    assert not re.search(r"(namespace|instance): [0-9]", text)


def test_common_labels_are_on_every_object() -> None:
    values = {"commonLabels": {"team": "gpu"}}
    assert [
        one["kind"]
        for one in objects(values)
        if one["metadata"]["labels"].get("team") != "gpu" and one["kind"] != "Pod"
    ] == []
    assert only("Deployment", values)["spec"]["template"]["metadata"]["labels"]["team"] == "gpu"
    assert "team" not in only("Deployment", values)["spec"]["selector"]["matchLabels"]


OURS = [f"app.kubernetes.io/{part}" for part in ("name", "component", "managed-by")]
CLASHING = dict.fromkeys(["team", *OURS], "other")


def test_duplicate_label_or_annotation_is_rendered_once() -> None:
    """The reader of the manifests refuses a key that comes twice."""
    labels = {"labels": CLASHING}
    monitoring = {"prometheusRule": {"enabled": True, "alertLabels": {"severity": "page"}} | labels}
    values = {
        "commonLabels": {"team": "gpu"} | dict.fromkeys(OURS, "common"),
        "podLabels": CLASHING,
        "podAnnotations": {"checksum/process-settings": "mine"},
        "service": labels,
        "webhooks": labels | {"annotations": {"a": "mine"}},
        "metrics": {"serviceMonitor": {"enabled": True} | labels, "dashboard": {"enabled": True} | labels} | monitoring,
        "tls": {"mode": "existing-secret", "existingSecret": {"name": "x", "annotations": {"a": "writer"}}},
    }
    for one in objects(values):
        if not is_test(one):
            assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "gpushare-webhook", one["kind"]
            assert one["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm", one["kind"]
    assert service(values, "-metrics")["metadata"]["labels"]["app.kubernetes.io/component"] == "metrics"
    deployment = only("Deployment", values)["spec"]
    metadata = deployment["template"]["metadata"]
    assert deployment["selector"]["matchLabels"].items() <= metadata["labels"].items()
    assert metadata["labels"]["team"] == "other"
    assert metadata["annotations"]["checksum/process-settings"] != "mine"
    annotations = only("ValidatingWebhookConfiguration", values)["metadata"]["annotations"]
    assert annotations.keys() == {"a", RENDER}
    assert annotations["a"] == "writer"
    (group,) = only("PrometheusRule", values)["spec"]["groups"]
    assert {rule["labels"]["severity"] for rule in group["rules"]} == {"page"}


def test_manifest_reader_rejects_duplicate_keys() -> None:
    with pytest.raises(RefusedError, match='key "a" already set in map'):
        objects({"extraObjects": ["{kind: A, metadata: {a: 1, a: 2}}"]})


def test_older_kubernetes_is_rejected() -> None:
    with pytest.raises(RefusedError, match=r"chart requires kubeVersion: >=1\.30\.0-0"):
        rendered("default", kubernetes="1.29.9")
    for version in ("1.30.0", "1.31.4-gke.1000", "v1.37.0-eks-1"):
        assert rendered("default", kubernetes=version)
