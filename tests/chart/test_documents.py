"""The pages about the chart are correct: their values render, and their names exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.render import (
    CHART,
    NAMESPACE,
    REGISTRY,
    RELEASE,
    WEBHOOK_MODES,
    Values,
    container,
    entries,
    helm,
    objects,
    only,
    rendered,
)
from tests.chart.test_settings import read, settings_file
from tests.project.pages import Block, pages, shell_blocks
from tests.project.repository import ROOT, blocks
from webhook.policy.checks import POD_CHECKS
from webhook.policy.verdict import Severity
from webhook.policy.workloads.presets import PRESETS

pytestmark = pytest.mark.slow

PAGES = ROOT / "docs" / "how-to"
VALUES = ("first-day", "install", "custom-kinds", "certificates", "emergency", "roll-back", "upgrade", "gitops")
"""The pages on which YAML is values of the chart."""

SHOWN = [(page, content) for page in VALUES for language, content in blocks(PAGES / f"{page}.md") if language == "yaml"]


@pytest.mark.parametrize(("page", "content"), SHOWN)
def test_values_in_documentation_render(page: str, content: str, tmp_path: Any) -> None:
    values = yaml.safe_load(content)
    assert rendered(values)
    assert read(settings_file(values), tmp_path)


def test_first_values_are_short() -> None:
    excerpt = next(content for page, content in SHOWN if page == "first-day")
    assert len(excerpt.splitlines()) < 60
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    assert yaml.safe_load(excerpt).keys() <= known.keys()


def test_documentation_lists_every_entry() -> None:
    page = (ROOT / "docs" / "reference" / "webhook-entries.md").read_text()
    named = set(re.findall(r"`([\w.…-]+\.(?:mutate|validate))`", page))
    found = {one["name"].removesuffix(".gpushare-webhook.io") for mode in WEBHOOK_MODES for one in entries(mode)}
    presets = {f"{preset.name}.validate" for preset in PRESETS}
    custom = {name for name in found if name.count(".") > 1}
    others = {name for name in found if name.startswith("other-") and name.endswith(".validate")}
    assert custom
    assert named - presets == (found - presets - custom - others) | {
        *("other-….validate", "PRESET.validate", "RESOURCE.GROUP.validate")
    }


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/install.md"])
def test_documented_build_and_install_use_same_image(page: str) -> None:
    text = (ROOT / page).read_text()
    (registry,) = re.findall(r"--set image\.registry=(\S+)", text)
    pulled = container({"image": {"registry": registry}})["image"]
    assert f"buildah build --isolation chroot --tag {pulled} .\nbuildah push {pulled}\n" in text


def installs() -> Iterator[tuple[Block, list[str]]]:
    """The commands of pages that install the clone's chart, or upgrade it with values of their own."""
    for block in (block for page in pages() for block in shell_blocks(page)):
        for command in block.commands():
            if command[0] == "helm" and "charts/gpushare-webhook" in command and "--reuse-values" not in command:
                yield block, command


INSTALLS = [(block, command) for block, command in installs() if command[1] in ("install", "upgrade", "template")]


def test_pages_that_install_are_found() -> None:
    guides = {f"docs/how-to/{name}.md" for name in ("install", "first-day", "gitops", "mixed-clusters", "upgrade")}
    assert {block.page for block, _ in INSTALLS} == guides | {"README.md", "charts/gpushare-webhook/README.md"}


@pytest.mark.parametrize(("block", "command"), INSTALLS, ids=[block.where for block, _ in INSTALLS])
def test_documented_install_names_image_and_reachable_ports(block: Block, command: list[str], tmp_path: Path) -> None:
    """With no other values than the page's, or those of the first day."""
    files = dict(re.findall(r"^cat > (\S+) <<'YAML'\n(.*?)^YAML$", block.script, re.MULTILINE | re.DOTALL))
    files["values.yaml"] = next(content for page, content in SHOWN if page == "first-day")
    given: list[str] = []
    for option, value in pairwise(command):
        if option == "--values":
            (tmp_path / value).write_text(files[value])
            given += [option, str(tmp_path / value)]
        elif option.startswith("--set"):
            given += [option, value]
    text = helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *given)
    assert f"image: {REGISTRY}/" in text
    assert "\nkind: NetworkPolicy\n" not in text
    page = (ROOT / block.page).read_text()
    shows_notes = command[1] == "upgrade"  # which say it
    assert "#limit-the-network-traffic)" in page or "\n## Limit the network traffic\n" in page or shows_notes


def test_documented_cilium_policy_selects_pods_and_their_ports() -> None:
    (values,) = [yaml.safe_load(content) for _, content in SHOWN if "kind: CiliumNetworkPolicy" in content]
    policy = only("CiliumNetworkPolicy", values, release="gpushare-webhook")
    template = only("Deployment", values, release="gpushare-webhook")["spec"]["template"]
    assert policy["spec"]["endpointSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    opened = [port["port"] for rule in policy["spec"]["ingress"] for to in rule["toPorts"] for port in to["ports"]]
    assert opened == [str(port["containerPort"]) for port in template["spec"]["containers"][0]["ports"]]


def test_documented_command_without_helm_patches_both_configurations() -> None:
    ((_, command),) = [one for one in blocks(PAGES / "emergency.md") if "| sed" in one[1]]
    assert "get mutatingwebhookconfiguration,validatingwebhookconfiguration " in command


def paths(values: Values) -> set[str]:
    found = {key for key in values if not isinstance(values[key], dict) or not values[key]}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= {key} | {f"{key}.{below}" for below in paths(value)}
    return found


def test_query_names_checks_that_reject() -> None:
    """The codes of the query "which team breaks" are those of pods that are denied by default."""
    page = (PAGES / "first-day.md").read_text()
    named = set(re.findall(r"GPS\d{3}", re.findall(r'code=~"([^"]+)"', page)[0]))
    assert named == {check.code for check in POD_CHECKS if check.severity is Severity.DENY}


@pytest.mark.parametrize("page", [*VALUES, "../reference/webhook-entries"])
def test_documented_values_exist(page: str) -> None:
    known = paths(yaml.safe_load((CHART / "values.yaml").read_text()))
    roots = {name.partition(".")[0] for name in known} - {"config"}
    text = re.sub(r"^```.*?^```$", "", (PAGES / f"{page}.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    named = {name for name in re.findall(r"`([a-zA-Z]+(?:\.[a-zA-Z]+)+)[`:]", text) if name.partition(".")[0] in roots}
    assert {name for name in named - known if not name.endswith((".mutate", ".validate"))} == set()


def test_cert_manager_examples_match_rendered_objects() -> None:
    text = "---\n".join(
        (ROOT / "certs" / "cert-manager" / f"{name}.yaml").read_text() for name in ("authority", "certificate")
    )
    shown = {(one["kind"], one["metadata"]["name"]): one["spec"] for one in yaml.safe_load_all(text)}
    values = {"tls": {"mode": "cert-manager"}, "fullnameOverride": "gpushare-webhook"}
    made = {
        (one["kind"], one["metadata"]["name"]): one["spec"]
        for one in objects(values, namespace="gpushare-webhook")
        if one["kind"] in ("Issuer", "Certificate")
    }
    assert shown == made
