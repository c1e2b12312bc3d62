"""Every injection has an example: a pod, and the pod that the webhook makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from docs.checks import Example, examples
from tests.manifests.reading import read
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.files import parse
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest
from webhook.policy import injections
from webhook.policy.injections import ALL
from webhook.report.explanation import explanation
from webhook.settings.load import load, load_facts

EXAMPLES = [pytest.param(one.name, example, id=one.name) for one in ALL for example in examples(explanation(one))]
DEPENDS_ON = {"pipeMount": {"pipeDirectory"}}


def completed(example: Example, active: set[str]) -> Any:
    """The pod of an example with the edits of some injections, or its findings."""
    settings = yaml.safe_load(example.settings) or {}
    for injection in ALL:
        if injection.name not in active:
            settings.setdefault("injections", {}).setdefault(injection.name, {})["enabled"] = False
    held = parse("settings.yaml", yaml.safe_dump(settings).encode(), load).settings
    evaluator = OfflineEvaluator.of(held, parse("facts.yaml", example.facts.encode(), load_facts))
    (manifest,) = read("pod.yaml", example.wrong.encode())
    assert isinstance(manifest, Manifest)
    evaluated = evaluate(manifest, evaluator, "")
    assert isinstance(evaluated, Evaluated)
    if evaluated.result().decision != "allowed":
        return evaluated.result().findings
    return jsonpatch.apply_patch(evaluated.manifest.value, evaluated.operations())


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_example_shows_the_edits_of_the_injection(name: str, example: Example) -> None:
    before, after = yaml.safe_load(example.wrong), yaml.safe_load(example.right)
    assert completed(example, {name} | DEPENDS_ON.get(name, set())) == after
    assert completed(example, DEPENDS_ON.get(name, set())) != after
    assert before != after


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_example_needs_its_settings(name: str, example: Example) -> None:
    """An example of an injection that is on by default has none."""
    switched = yaml.safe_load(example.settings)
    assert switched in (None, {"injections": {name: {"enabled": True}}})


def test_every_injection_has_a_page_with_an_example() -> None:
    assert {file.stem for file in Path(injections.__path__[0]).glob("*.md")} == {one.name for one in ALL}
    assert len(EXAMPLES) == len(ALL)
