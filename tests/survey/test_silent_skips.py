"""No object of the test data that names a GPU is skipped without a finding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from survey.checked import check
from survey.counts import Survey
from survey.mentions import named
from survey.repositories import repositories
from tests import fixture
from tests.project.pages import pages
from tests.project.repository import blocks, name, tracked
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings

pytestmark = pytest.mark.slow


def fixtures() -> Iterator[tuple[str, str]]:
    """The objects of the fixtures, by file."""
    for one in fixture.load_all():
        yield f"{one.name}.json", json.dumps(one.object)


def reviews() -> Iterator[tuple[str, str]]:
    """The objects of the recorded reviews, by file."""
    for file in tracked("tests/reviews/*.json"):
        asked: Any = json.loads(file.read_text())["request"]
        if asked.get("object"):
            yield file.name, json.dumps(asked["object"])


def manifests() -> Iterator[tuple[str, str]]:
    """The committed files that `check` reads, by file."""
    for pattern in ("*.yaml", "*.yml", "*.json"):
        for file in tracked(pattern):
            yield name(file), file.read_text()


def blocks_of_pages() -> Iterator[tuple[str, str]]:
    """The manifests that the pages show, in blocks of their own or on standard input of a command, by file."""
    for page in pages():
        for number, (language, content) in enumerate(blocks(page)):
            shown = [content] if language == "yaml" else re.findall(r"<<'?(\w+)'?\n(.*?)^\1$", content, re.M | re.S)
            for document in shown:
                yield f"{name(page)}-{number}.yaml", document if isinstance(document, str) else document[1]


DATA = {"fixtures": fixtures, "reviews": reviews, "manifests": manifests, "pages": blocks_of_pages}


ASK_FOR_NOTHING = {
    "GPS023/name-without-amount.json",
    "GPS023/cluster-policy.json",
    "GPS023/policy-that-generates-quotas.json",
    "bench/peers/rules/kyverno.yaml",
}
"""Objects that name a resource without an amount, or that compare amounts, so that a finding would be wrong."""


def test_no_object_of_the_test_data_is_skipped_silently(tmp_path: Path) -> None:
    for source, files in DATA.items():
        for path, content in files():
            if path in ASK_FOR_NOTHING:
                continue
            file = tmp_path / source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
    survey, gpus = Survey(most=1_000), GpuResources(Settings().resources)
    for repository in repositories(tmp_path):
        survey.add(repository.name, check(repository, (), 120), named(repository, gpus))
    assert [one for one in DATA if not survey.repositories[one].objects.gpu] == []
    silent = {key: tally.sample for key, tally in survey.unchecked.items() if key.is_silent}
    assert silent == {}
