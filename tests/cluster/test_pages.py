"""The commands of the pages on a real cluster: an installation as the pages show it, and what they do with one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.chart import tools
from tests.cluster.harness import webhook_image
from tests.cluster.harness.api import ApiError
from tests.cluster.harness.hooks import DRY_POD, VALIDATING
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.release import CHART, RUNTIME_CLASS
from tests.cluster.harness.waiting import wait_for
from tests.project import page_shell
from tests.project.pages import CLUSTER, pages, shell_blocks
from tests.project.repository import ROOT, blocks, name
from webhook import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.cluster.harness.cluster import Cluster
    from tests.project.pages import Block

NAMESPACE = "gpushare-webhook"
IMAGE = f"gpushare-webhook/gpushare-webhook:{__version__}"
HERE = {name(page): [one for one in shell_blocks(page) if one.by == CLUSTER] for page in pages()}
INSTALLS = ("helm install", "helm template gpushare-webhook")


def installs(page: str) -> bool:
    return any(word in block.script for block in HERE[page] for word in INSTALLS)


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> Cluster:
    """The cluster with the image under the names that the pages and the chart give it."""
    webhook_image.load(cluster)
    for registry in ("docker.io", "registry.example.com"):
        cluster.node.containers.tag(f"docker.io/library/{webhook_image.IMAGE}", f"{registry}/{IMAGE}")
    cluster.kubectl("apply", "-f", "-", manifest=RUNTIME_CLASS)
    return cluster


@pytest.fixture
def folder(node: Cluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A clone with the files that a reader has; at the end, the cluster has nothing of it."""
    made = node.place.folder / "pages" / str(abs(hash(request.node.name)))
    shutil.copytree(ROOT / "tests" / "project" / "reader", made)
    shutil.copytree(CHART, made / "charts" / "gpushare-webhook")
    (made / "values.yaml").write_text(yaml.safe_dump(first_day()))
    yield made
    hooks = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
    node.kubectl("delete", hooks, "--selector=app.kubernetes.io/name=gpushare-webhook")
    node.kubectl("delete", "deployment", "--all", f"--namespace={NAMESPACE}")
    node.kubectl("delete", "pod", "--all", f"--namespace={NAMESPACE}", "--grace-period=1")
    node.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
    node.kubectl("delete", "pod", "--all", "--namespace=default", "--grace-period=1")
    node.kubectl("delete", "clusterrole,clusterrolebinding", "--selector=app.kubernetes.io/name=gpushare-webhook")
    roles = "role,rolebinding"
    node.kubectl("delete", roles, "--all-namespaces", "--selector=app.kubernetes.io/name=gpushare-webhook")


def first_day() -> Mapping[str, object]:
    """The values that the page on the installation shows, without the objects of the Prometheus operator."""
    ((_, shown),) = [block for block in blocks(ROOT / "docs/how-to/install.md") if block[0] == "yaml"]
    values: dict[str, object] = yaml.safe_load(shown)
    return {section: value for section, value in values.items() if section != "metrics"}


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


def rejects(cluster: Cluster) -> bool:
    """Whether the webhook rejects a pod that asks for two replicas."""
    try:
        cluster.api.create(DRY_POD, pod("two", container(gpus=2)))
    except ApiError as refusal:
        return "GPS001" in str(refusal)
    return False


@pytest.mark.parametrize("page", [page for page, wanted in HERE.items() if wanted and not installs(page)])
def test_page_works_with_installation(page: str, node: Cluster, folder: Path) -> None:
    run(node, HERE["README.md"], folder)
    assert rejects(node)
    run(node, HERE[page], folder)


@pytest.mark.parametrize("page", [page for page in HERE if installs(page)])
def test_page_installs_webhook(page: str, node: Cluster, folder: Path) -> None:
    """Up to its first block that removes it, the webhook is there; a page that removes it leaves no configuration."""
    wanted = HERE[page]
    removing = [block for block in wanted if "helm uninstall" in block.script]
    run(node, wanted[: len(wanted) - len(removing)], folder)
    if not removing:
        wait_for("the webhook to answer", lambda: rejects(node))
        return
    run(node, removing, folder)
    assert not [one for one in node.api.items(VALIDATING) if "gpushare" in one["metadata"]["name"]]
