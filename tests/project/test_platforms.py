"""The pages about platforms show the settings files that the transcripts use, and name every profile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.cli.run import run
from tests.project.repository import ROOT, blocks
from webhook.cluster.device_plugin import PluginDaemonSet, device_plugin
from webhook.dryrun.files import configuration, read_facts
from webhook.policy.sharing.objects import DefaultRule
from webhook.settings.profiles import PROFILES

PAGES = ROOT / "docs" / "how-to" / "platforms"
EXAMPLES = ROOT / "examples" / "platforms"
SETTINGS = sorted(EXAMPLES.glob("*.yaml"))


SHOWN = [content for page in sorted(PAGES.glob("*.md")) for language, content in blocks(page) if language == "yaml"]


def shown_settings() -> list[str]:
    """The settings files that the pages show. They also show values of the charts that deploy the device plugin."""
    return [content for content in SHOWN if not content.startswith("# Values of ")]


CHARTS = {
    "device-plugin": ("# Values of nvidia-device-plugin.", ["config"], "map", ("named", "single")),
    "gpu-operator": ("# Values of the GPU operator.", ["devicePlugin", "config"], "data", ("empty",)),
}
"""By page: how the values of the chart begin, their section, its key of the configurations, and the fallbacks."""


@pytest.mark.parametrize("page", CHARTS)
def test_facts_file_is_what_shown_values_of_chart_make(page: str) -> None:
    title, section, key, fallbacks = CHARTS[page]
    (config,) = [yaml.safe_load(content) for content in SHOWN if content.startswith(title)]
    for name in section:
        config = config[name]
    texts = {name: text.encode() for name, text in config[key].items()}
    settings = configuration(str(EXAMPLES / "gpu-operator-mixed.yaml")).settings
    source = settings.facts.device_plugin
    assert source is not None
    daemon = PluginDaemonSet("v0.20.0", DefaultRule(config["default"], fallbacks), runtime_class="nvidia")
    (where,) = source.config_maps
    read, problems = device_plugin(source, {where: {"": texts}}, {"": daemon})
    facts = read_facts(str(EXAMPLES / "facts" / "mixed.yaml"), settings)
    assert (read, problems) == (facts.device_plugin, ())


def test_pages_show_every_settings_file() -> None:
    assert sorted(shown_settings()) == sorted(file.read_text() for file in SETTINGS)


@pytest.mark.parametrize("file", SETTINGS, ids=lambda file: file.stem)
def test_settings_file_is_valid(file: Path) -> None:
    assert run("config", "validate", "--config", file).code == 0


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.yaml")), ids=lambda file: file.stem)
def test_transcript_uses_every_pod_and_facts_file(file: Path) -> None:
    commands = [content.partition("\n")[0] for page in PAGES.glob("*.md") for _, content in blocks(page)]
    assert any(f" {file.relative_to(ROOT)} " in f"{command} " for command in commands)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_index_and_readme_name_every_profile(profile: str) -> None:
    assert f"`{profile}`" in (PAGES / "index.md").read_text()
    assert f"`{profile}`" in (ROOT / "README.md").read_text()


def test_index_links_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)", (PAGES / "index.md").read_text()))
    assert linked == {page.name for page in PAGES.glob("*.md")} - {"index.md"}


def test_reason_for_no_runtime_class_under_cdi_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    facts = ("--config", "examples/platforms/gpu-operator.yaml", "--facts", "examples/platforms/facts/cdi.yaml")
    named = run("mutate", "-v", "-f", "examples/vectoradd.yaml", *facts, "-o", "diff").err.splitlines()
    (shown,) = [content for language, content in blocks(PAGES / "gpu-operator.md") if language == "text"]
    assert shown.strip() in named
