"""Every check has examples: a wrong manifest with its finding, and a right one that follows a remedy of the finding."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from docs.checks import Example, examples, report
from tests.manifests.reading import read
from tests.policy.checks.test_remedies import CHANGES
from webhook.diagnostics import InputError
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Source
from webhook.policy import checks
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check, Scope
from webhook.policy.settings.settings import Settings
from webhook.policy.sharing.objects import KIND, VALUES
from webhook.report.explanation import explanation
from webhook.report.model import Result

EXAMPLES = [
    pytest.param(check, example, id=f"{check.code}-{number}")
    for check in CHECKS
    for number, example in enumerate(examples(explanation(check)), 1)
]
every_example = pytest.mark.parametrize(("check", "example"), EXAMPLES)

WITHOUT_CHANGE = {
    "GPS012": "another namespace is a decision of the administrator",
    "GPS023": "what stands in text cannot be checked, and the remedy leaves it open where it should stand",
    "GPS019": "the right pod is the one that the mutating hook makes",
}
"""Codes with a remedy that names no change of the manifest, and why."""


def codes(results: list[Result]) -> list[str]:
    return [located.code for result in results for located in result.findings]


def test_every_check_has_examples() -> None:
    folder = Path(checks.__path__[0])
    assert {file.stem.upper() for file in folder.glob("*.md")} == {check.code for check in CHECKS}
    assert [check.code for check in CHECKS if not examples(explanation(check))] == []


@every_example
def test_wrong_example_has_only_findings_of_its_code(check: Check[Any], example: Example) -> None:
    assert set(codes(report(check, example, "wrong"))) == {check.code}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_an_example_has_the_default_severity(check: Check[Any]) -> None:
    reports = [report(check, example, "wrong") for example in examples(explanation(check))]
    severities = {one.severity for report in reports for result in report for one in result.findings}
    assert check.severity in severities


@every_example
def test_right_example_has_no_finding(check: Check[Any], example: Example) -> None:
    assert codes(report(check, example, "right")) == []


@every_example
def test_right_example_requests_shares_or_hides_gpus(check: Check[Any], example: Example) -> None:
    assert re.search(r'nvidia\.com/\S+: "?[1-9]|replicas: [2-9]|value: void', example.right)


@every_example
def test_example_needs_its_settings_and_facts(check: Check[Any], example: Example) -> None:
    """Without one of them, the wrong manifest would not have the same findings."""
    given = codes(report(check, example, "wrong")), codes(report(check, example, "right"))
    for kind in ("settings", "facts"):
        if getattr(example, kind):
            less = replace(example, **{kind: ""})
            assert (codes(report(check, less, "wrong")), codes(report(check, less, "right"))) != given, kind


Places = set[tuple[str | int, ...]]

HELD = {Scope.SHARING_CONFIG: KIND[1], Scope.CONFIG_NAMES: VALUES[1]}
"""By scope, the kind of the objects that a check reads inside others."""


def examined(check: Check[Any], text: str) -> list[Any]:
    """The objects of an example that a check reads: its documents, or what they hold."""
    if check.scope not in HELD:
        return list(yaml.safe_load_all(text))
    held = [one.value for one in checked_objects(Source("pod.yaml", text.encode())) if isinstance(one, Manifest)]
    return [one for one in held if one["kind"] == HELD[check.scope]]


def remedied(check: Check[Any], example: Example) -> list[Places]:
    """For each change that a remedy of the wrong manifest names, where it changes the manifest."""
    findings = [one for result in report(check, example, "wrong") for one in result.findings]
    (wrong,) = examined(check, example.wrong)
    places = []
    for code, pattern, changes in CHANGES:
        matches = [(one, found) for one in findings if (found := re.fullmatch(pattern, one.remedy)) is not None]
        for change in changes if code == check.code and matches else ():
            changed = copy.deepcopy(wrong)
            for finding, found in reversed(matches):
                change(changed, finding, found)
            places.append(differences(tidy(wrong), tidy(changed)))
    return places


@every_example
def test_right_example_follows_a_remedy(check: Check[Any], example: Example) -> None:
    """It differs from the wrong one, and only where a remedy changes it."""
    (wrong,) = examined(check, example.wrong)
    differ = [differences(tidy(wrong), tidy(right)) for right in examined(check, example.right)]
    assert all(differ)
    named = remedied(check, example)
    if named:
        assert any(places - {("metadata", "name")} <= changed for changed in named for places in differ)


def test_only_known_codes_have_remedies_without_change() -> None:
    without = {
        check.code for check in CHECKS for example in examples(explanation(check)) if not remedied(check, example)
    }
    assert without == set(WITHOUT_CHANGE)


def tidy(value: Any) -> Any:
    """Without empty mappings and lists, and without volumes that no container mounts."""
    if isinstance(value, list):
        return [tidy(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "volumes" in value:
        used = re.findall(r"'name': '([^']*)', 'mountPath'", str(value["containers"]))
        value = {**value, "volumes": [volume for volume in value["volumes"] if volume["name"] in used]}
    return {key: held for key, one in value.items() if (held := tidy(one)) not in ({}, [])}


def differences(left: Any, right: Any, path: tuple[str | int, ...] = ()) -> Places:
    """The paths at which two values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        pairs: Iterator[tuple[str | int, Any, Any]] = (
            (key, left.get(key), right.get(key)) for key in left.keys() | right.keys()
        )
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = ((index, *both) for index, both in enumerate(zip(left, right, strict=True)))
    else:
        return set() if left == right else {path}
    return {found for key, one, other in pairs for found in differences(one, other, (*path, key))}


def only(text: str) -> Manifest:
    (manifest,) = read("pod.yaml", text.encode())
    assert isinstance(manifest, Manifest)
    return manifest


def test_right_example_of_gps019_is_the_mutated_pod() -> None:
    (check,) = (check for check in CHECKS if check.code == "GPS019")
    (example,) = examples(explanation(check))
    evaluated = evaluate(only(example.wrong), OfflineEvaluator.of(Settings()), "")
    assert isinstance(evaluated, Evaluated)
    mutated = jsonpatch.apply_patch(evaluated.manifest.value, evaluated.operations())
    assert mutated == only(example.right).value


@pytest.mark.parametrize(
    "example",
    [
        Example("", "kind: [", ""),
        Example("", "apiVersion: v1\nkind: Pod\nspec: 1\n", ""),
        Example("", "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n", "", settings="mode: loud\n"),
        Example("", "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n", "", facts="nodes: 1\n"),
    ],
    ids=["not YAML", "not a pod", "wrong settings", "wrong facts"],
)
def test_invalid_example_raises(example: Example) -> None:
    with pytest.raises(InputError):
        report(CHECKS[0], example, "wrong")


@every_example
def test_example_is_tidy(check: Check[Any], example: Example) -> None:
    assert re.fullmatch(r"\S.*[^.]\.", example.about)
    for text in (example.wrong, example.right, example.settings, example.facts):
        assert not text or text.endswith("\n")
        assert max(map(len, text.splitlines()), default=0) <= 110
        for document in yaml.safe_load_all(text):
            assert isinstance(document, dict)
