"""The metadata that Artifact Hub shows, in the form that it documents (artifacthub/hub, docs/helm_annotations.md).

Its linter is not a published Go module that can be built here, so these tests compare with the documented fields.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.cluster.harness.release import CHART
from tests.project.repository import ROOT, project
from webhook import __version__

METADATA: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
HUB = {key.removeprefix("artifacthub.io/"): value for key, value in METADATA["annotations"].items()}
FIELDS = {
    "changes": {"kind", "description"},
    "images": {"name", "image"},
    "links": {"name", "url"},
    "screenshots": {"title", "url"},
}
CATEGORIES = {"ai-machine-learning", "integration-delivery", "monitoring-logging", "networking", "security", "storage"}
KINDS = {"added", "changed", "deprecated", "removed", "fixed", "security"}


def test_annotations_are_complete_and_known() -> None:
    assert HUB.keys() == {"category", "license", "prerelease", *FIELDS}
    assert all(isinstance(value, str) for value in HUB.values())
    assert HUB["category"] in CATEGORIES
    assert HUB["license"] == project()["project"]["license"]


@pytest.mark.parametrize("name", FIELDS)
def test_list_has_documented_fields(name: str) -> None:
    entries = yaml.safe_load(HUB[name])
    assert entries
    assert [entry for entry in entries if entry.keys() != FIELDS[name] or not all(entry.values())] == []


def test_changes_have_known_kinds() -> None:
    assert {change["kind"] for change in yaml.safe_load(HUB["changes"])} <= KINDS


def test_prerelease_follows_version() -> None:
    assert HUB["prerelease"] == str("-" in __version__).lower()


def test_addresses_are_of_one_repository() -> None:
    (repository,) = METADATA["sources"]
    entries = [*yaml.safe_load(HUB["links"]), *yaml.safe_load(HUB["screenshots"]), *METADATA["maintainers"]]
    assert METADATA["home"] == repository
    for entry in entries:
        assert entry["url"].startswith(f"{repository}/")
        path = urlsplit(entry["url"].removeprefix(f"{repository}/")).path
        assert path == "issues" or (ROOT / path.split("/", 2)[2]).is_file()
