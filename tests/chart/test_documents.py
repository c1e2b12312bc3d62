"""The pages about the chart are correct: their values render, and their names exist."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import Any

import pytest
import yaml

from tests.chart.render import (
    CHART,
    NAMESPACE,
    RELEASE,
    WEBHOOK_MODES,
    Values,
    container,
    entries,
    helm,
    objects,
    rendered,
)
from tests.chart.test_settings import read, settings_file
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
    assert 30 < len(excerpt.splitlines()) < 60
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


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/install.md", "charts/gpushare-webhook/README.md"])
def test_documented_install_limits_network_traffic(page: str) -> None:
    shell = [text for language, text in blocks(ROOT / page) if language == "sh"]
    (command,) = [one for text in shell for one in commands(text) if one[:2] == ["helm", "install"]]
    sets = [one for word, value in pairwise(command) if word == "--set" for one in ("--set", value)]
    text = helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *sets)
    assert "\nkind: NetworkPolicy\n" in text


def commands(text: str) -> list[list[str]]:
    """The commands of a shell block, as words."""
    return [shlex.split(line) for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#")]


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
