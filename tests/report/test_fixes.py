"""A fix resolves its finding, raises no other, and changes nothing else of the file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import run
from tests.fixture import Fixture, Json, load_all
from tests.policy.test_remedies import verdict
from tests.report.test_sarif import validator


def block(value: Json) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def flow(value: Json) -> str:
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=100)


def indented(value: Json) -> str:
    return json.dumps(value, indent=2)


def in_one_line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


STYLES: tuple[Callable[[Json], str], ...] = (block, flow, indented, in_one_line)

FIXTURES = [
    fixture
    for fixture in load_all()
    if fixture.hook == "offline"
    and fixture.operation == "CREATE"
    and any(finding.fix for finding in verdict(fixture, fixture.object).findings)
]


class Checked:
    """The reports of a run about one file."""

    def __init__(self, folder: Path, text: str, *options: object) -> None:
        (folder / "object.yaml").write_text(text)
        ended = run("check", folder / "object.yaml", "-o", "json", "-o", f"sarif={folder}/sarif", *options)
        assert ended.err == ""
        ((result),) = ended.json()["results"]
        self.findings: list[Json] = result["findings"]
        log = json.loads((folder / "sarif").read_text())
        validator().validate(log)
        self.results: list[Json] = log["runs"][0]["results"]
        self.names = {(finding["code"], finding["path"]) for finding in self.findings}


def options_of(fixture: Fixture, folder: Path) -> list[object]:
    options: list[object] = ["-n", fixture.namespace]
    for option, content in (("--config", fixture.settings), ("--facts", fixture.facts)):
        if content is not None:
            file = folder / f"{option}.json"
            file.write_text(json.dumps(content))
            options += [option, file]
    return options


def applied(text: str, result: Json) -> str:
    """Return the text after the replacements of a result of SARIF, whose columns count code points."""
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == result["locations"][0]["physicalLocation"]["artifactLocation"]
    lines = text.split("\n")
    regions = sorted(change["replacements"], key=lambda one: -one["deletedRegion"]["startColumn"])
    for one in regions:
        region = one["deletedRegion"]
        line = lines[region["startLine"] - 1]
        before, after = line[: region["startColumn"] - 1], line[region["endColumn"] - 1 :]
        lines[region["startLine"] - 1] = f"{before}{one['insertedContent']['text']}{after}"
    return "\n".join(lines)


def step_into(value: Any, step: str) -> Any:
    return value[int(step) if isinstance(value, list) else step]


def pop(value: Json, pointer: str) -> Any:
    """Remove the member that a JSON pointer leads to, and return it."""
    *holder, last = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return reduce(step_into, holder, value).pop(last)


def assert_only_fixed(value: Json, before: Json, finding: Json) -> None:
    """Assert that a value has what the fix of a finding sets, and is otherwise as before."""
    before = copy.deepcopy(before)
    for one in finding["fix"]:
        old, new = pop(before, one["path"]), pop(value, one["path"])
        # A quantity in quotes stays in quotes; any other value has the type that the fix gives it.
        assert new == one["value"] or (isinstance(old, str) and new == str(one["value"]))
    assert value == before


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_fix_resolves_finding_and_nothing_else(fixture: Fixture, style: Callable[[Json], str], tmp_path: Path) -> None:
    options = options_of(fixture, tmp_path)
    text = style(fixture.object)
    before = Checked(tmp_path, text, *options)
    expected = [bool(finding.fix) for finding in verdict(fixture, fixture.object).findings]
    assert ["fix" in finding for finding in before.findings] == expected
    assert ["fixes" in result for result in before.results] == expected
    for finding, result in zip(before.findings, before.results, strict=True):
        if "fix" in finding:
            fixed = applied(text, result)
            assert_only_fixed(yaml.safe_load(fixed), fixture.object, finding)
            after = Checked(tmp_path, fixed, *options)
            assert (finding["code"], finding["path"]) not in after.names
            assert after.names < before.names
