"""The commands of the pages on a real cluster: an installation as the pages show it, and what they do with one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.chart import tools
from tests.chart.render import REGISTRY
from tests.cluster.harness import options, webhook_image
from tests.cluster.harness.hooks import VALIDATING
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.release import CHART
from tests.cluster.harness.rights import PLUGIN_NAMESPACE
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook_manifests import RUNTIME_CLASS
from tests.cluster.sources import daemon_set
from tests.project import page_shell
from tests.project.pages import pages, shell_blocks
from tests.project.repository import ROOT, blocks, name
from webhook import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.project.pages import Block

NAMESPACE = "gpushare-webhook"
IMAGE = f"{REGISTRY}/gpushare-webhook/gpushare-webhook:{__version__}"
LABELLED = "--selector=app.kubernetes.io/name=gpushare-webhook"
HERE = {name(page): [block for block in shell_blocks(page) if block.runs_in_cluster] for page in pages()}
INSTALLS = ("helm install", "helm upgrade --install", "helm template gpushare-webhook")
INSTALLING = [
    page for page, wanted in HERE.items() if any(command in block.script for block in wanted for command in INSTALLS)
]


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with the image under the name that the pages give it."""
    webhook_image.load(cluster)
    cluster.node.containers.tag(f"docker.io/library/{webhook_image.IMAGE}", IMAGE)
    cluster.kubectl("apply", "-f", "-", manifest=RUNTIME_CLASS)
    for manifest in device_plugin():
        cluster.kubectl("apply", "-f", "-", manifest=manifest)
    yield cluster
    cluster.kubectl("delete", "namespace", PLUGIN_NAMESPACE)


def device_plugin() -> Iterator[Object]:
    """The objects of NVIDIA's chart as the pages name them, which describe the plugin that runs on the node."""
    name = "nvdp-nvidia-device-plugin"
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLUGIN_NAMESPACE}}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-configs", "namespace": PLUGIN_NAMESPACE},
        "data": {"whole": json.dumps(options.whole()), "mps": json.dumps(options.mps())},
    }
    found = daemon_set("v0.20.0", default="mps")
    metadata = {"name": name, "namespace": PLUGIN_NAMESPACE}
    yield {"apiVersion": "apps/v1", "kind": "DaemonSet"} | found | {"metadata": metadata}


@pytest.fixture
def empty(node: Cluster) -> Iterator[Cluster]:
    """The cluster without the webhook, before and after a test."""
    yield node
    remove(node)


@pytest.fixture(scope="module")
def installed(node: Cluster) -> Iterator[Cluster]:
    """The cluster with the webhook as the README installs it."""
    folder = clone(node, "installation")
    run(node, HERE["README.md"], folder)
    yield node
    remove(node)


def remove(cluster: Cluster) -> None:
    kinds = cluster.kubectl("api-resources", "--api-group=admissionregistration.k8s.io", "--output=name").split()
    found = cluster.kubectl("get", ",".join(kinds), "--output=name").split()
    # A guard that a page exports has no labels.
    if admission := [one for one in found if one.partition("/")[2].startswith("gpushare-webhook")]:
        cluster.kubectl("delete", *admission)
    cluster.kubectl("delete", "deployment", "--all", f"--namespace={NAMESPACE}")
    cluster.kubectl("delete", "pod", "--all", f"--namespace={NAMESPACE}", "--grace-period=1")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", LABELLED)
    cluster.kubectl("delete", "role,rolebinding", "--all-namespaces", LABELLED)


def clone(cluster: Cluster, title: str) -> Path:
    """What a reader has: the chart and the examples of a clone, values, and the files of `tests/project/reader`."""
    folder = cluster.place.folder / "pages" / hashlib.sha256(title.encode()).hexdigest()[:12]
    shutil.copytree(ROOT / "tests" / "project" / "reader", folder)
    shutil.copytree(CHART, folder / "charts" / "gpushare-webhook")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "values.yaml").write_text(yaml.safe_dump(first_day()))
    return folder


def first_day() -> Mapping[str, object]:
    """The first values that the page on the first day shows."""
    shown = next(text for language, text in blocks(ROOT / "docs/how-to/first-day.md") if language == "yaml")
    values: dict[str, object] = yaml.safe_load(shown)
    return values


def run(cluster: Cluster, wanted: Sequence[Block], folder: Path) -> None:
    """Run blocks as the cluster's administrator, and compare what they do with what the page says."""
    programs = [Path(sys.executable).parent, Path(tools.helm()).parent, cluster.control.tools.kubectl.parent]
    environment = os.environ | {
        "PATH": ":".join([*map(str, programs), os.environ["PATH"]]),
        "KUBECONFIG": str(cluster.control.kubeconfigs["admin"]),
        "HOME": str(folder),
    }
    record = folder / f"record-{wanted[0].line}"
    ran = page_shell.run(wanted, folder, record, cluster.inside.command(["bash"]), environment)
    for block, result in zip(wanted, ran, strict=True):
        page_shell.check(block, result)


def answer(cluster: Cluster) -> str:
    """What kubectl says about a pod that asks for two replicas; the values may turn the denial into a warning."""
    two = pod("two", container(gpus=2))
    return cluster.kubectl.run("create", "--dry-run=server", "--filename=-", manifest=two).stderr


@pytest.mark.parametrize(
    "page", [page if page == "README.md" else pytest.param(page, marks=pytest.mark.exhaustive) for page in INSTALLING]
)
def test_page_installs_webhook(page: str, empty: Cluster) -> None:
    """Its last block may remove the webhook, and then leaves no configuration."""
    removes = "helm uninstall" in HERE[page][-1].script
    first = HERE[page][:-1] if removes else HERE[page]
    folder = clone(empty, page)
    run(empty, first, folder)
    wait_for("the webhook to answer", lambda: "GPS001" in answer(empty))
    if removes:
        run(empty, HERE[page][-1:], folder)
        assert not [one for one in empty.api.items(VALIDATING) if "gpushare" in one["metadata"]["name"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", [page for page, wanted in HERE.items() if wanted and page not in INSTALLING])
def test_page_works_with_installation(page: str, installed: Cluster) -> None:
    run(installed, HERE[page], clone(installed, page))
    installed.kubectl("delete", "pod", "--all", "--namespace=default", "--grace-period=1")
