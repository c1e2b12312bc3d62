"""The verdict on what GPS030 judges in a configuration is that of the device plugin itself, in each release."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache

import pytest

from tests.deviceplugin.configurations import configurations
from tests.deviceplugin.loaders import BUILT, START, recipe, verdicts
from tests.deviceplugin.record import RECORDED, recorded
from tests.fixture import load_all
from webhook.manifests import Document, documents
from webhook.policy.sharing.config import refusal
from webhook.policy.sharing.objects import of_object

FOLDERS = ("GPS030", "GPS031")
SAMPLE = re.compile(r"^version: v1\n(?:(?!EOF|```).*\n)+", re.MULTILINE)
"""A configuration in the plugin's README.md. Some are forms to fill in, with placeholders in angle brackets."""


@cache
def texts() -> list[str]:
    return configurations()


def value_of(text: str) -> object:
    found = next(documents("", text.encode()), None)
    assert found is None or isinstance(found, Document), (text, found)
    return None if found is None else found.value


@cache
def values() -> list[object]:
    return [value_of(text) for text in texts()]


def differing(held: Sequence[object], theirs: Sequence[object]) -> list[tuple[object, object, object]]:
    """The configurations on whose verdict the check and the plugin differ, with the refusals."""
    compared = zip(held, map(refusal, held), theirs, strict=True)
    return [(value, ours, their) for value, ours, their in compared if (ours is None) != (not their)]


def test_every_release_is_compared() -> None:
    compared = {*BUILT, *(version.rpartition(".")[0] for version in RECORDED)}
    assert compared == set(START) == {f"v0.{number}" for number in range(15, 21)}


def test_configurations_are_many_and_no_verdict_is_rare() -> None:
    refused = [refusal(value) is not None for value in values()]
    assert len(set(texts())) == len(texts()) >= 2000
    assert min(refused.count(True), refused.count(False)) >= 500


@pytest.mark.parametrize("release", BUILT)
def test_verdict_is_that_of_the_plugin(release: str) -> None:
    theirs = verdicts(recipe(release).make() / "loader", texts())
    assert differing(values(), theirs) == []


@pytest.mark.parametrize("version", RECORDED)
def test_verdict_is_the_recorded_one(version: str) -> None:
    assert differing(values(), recorded(version, texts())) == []


@pytest.mark.parametrize("release", BUILT)
def test_verdict_on_fixtures_and_samples_is_that_of_the_plugin(release: str) -> None:
    folder = recipe(release).make()
    readme = (folder / "README.md").read_text().replace("    ...\n", "")
    samples = [text for text in SAMPLE.findall(readme) if "<" not in text]
    assert len(samples) >= 5
    fixtures = [json.dumps(of_object(one.object)) for one in load_all() if one.folder in FOLDERS]
    given = [*samples, *fixtures]
    assert differing([value_of(text) for text in given], verdicts(folder / "loader", given)) == []
