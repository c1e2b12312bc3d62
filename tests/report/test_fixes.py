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
from tests.policy.checks.test_remedies import verdict
from tests.report.test_sarif import validate
from webhook.report.model import spelled

pytestmark = pytest.mark.slow


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


def findings_in(folder: Path, text: str, *options: object) -> list[Json]:
    """The findings of a run about one file."""
    (folder / "object.yaml").write_bytes(text.encode())
    ended = run("check", folder / "object.yaml", "-o", "json", *options)
    assert ended.err == ""
    ((result),) = ended.json()["results"]
    found: list[Json] = result["findings"]
    return found


def names(findings: list[Json]) -> set[tuple[str, str]]:
    return {(finding["code"], finding["path"]) for finding in findings}


class Checked:
    """The reports of a run about one file."""

    def __init__(self, folder: Path, text: str, *options: object) -> None:
        self.findings = findings_in(folder, text, "-o", f"sarif={folder}/sarif", *options)
        log = json.loads((folder / "sarif").read_text())
        validate(log)
        self.results: list[Json] = log["runs"][0]["results"]


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
        assert (type(new), new) in {(type(one["value"]), one["value"]), (type(old), str(one["value"]))}
    assert value == before


@pytest.mark.exhaustive(every=4)
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
            after = names(findings_in(tmp_path, fixed, *options))
            assert (finding["code"], finding["path"]) not in after
            assert after < names(before.findings)


def pod(limits: str = "{nvidia.com/gpu: 2}", *, above: str = "", spec: str = "", container: str = "") -> str:
    """Return a pod of one container; `limits` is the value of `limits`."""
    return (
        f"{above}apiVersion: v1\nkind: Pod\nmetadata: {{name: train}}\nspec:\n{spec}"
        f"  containers:\n  - name: train\n{container}    resources:\n      limits: {limits}\n"
    )


def fixes(text: str, folder: Path, *options: object) -> dict[str, list[Json]]:
    """Return the fixes of the findings about a text, by code."""
    return {finding["code"]: finding["fix"] for finding in Checked(folder, text, *options).findings if "fix" in finding}


@pytest.mark.parametrize(
    ("limits", "fixed"),
    [
        ("{nvidia.com/gpu: 2}", "{nvidia.com/gpu: 1}"),
        ("{nvidia.com/gpu: '2', cpu: 2}", "{nvidia.com/gpu: '1', cpu: 2}"),
        ('{"nvidia.com/gpu":"2"}', '{"nvidia.com/gpu":"1"}'),
        ("\n        nvidia.com/gpu: 2  # two", "\n        nvidia.com/gpu: 1  # two"),
        ("{名前/gpu: 1, nvidia.com/gpu: 2}", "{名前/gpu: 1, nvidia.com/gpu: 1}"),
        (
            "{nvidia.com/gpu: 2}\n      requests: {nvidia.com/gpu: 0x2}",
            "{nvidia.com/gpu: 1}\n      requests: {nvidia.com/gpu: 1}",
        ),
    ],
)
def test_amount_keeps_quotes_and_comments(limits: str, fixed: str, tmp_path: Path) -> None:
    (result,) = Checked(tmp_path, pod(limits)).results
    assert applied(pod(limits), result) == pod(fixed)


def test_fix_of_several_lines_and_line_breaks(tmp_path: Path) -> None:
    text = pod("\n        nvidia.com/gpu: 2\n      requests:\n        nvidia.com/gpu: 2").replace("\n", "\r\n")
    (result,) = Checked(tmp_path, text).results
    assert applied(text, result) == text.replace("gpu: 2", "gpu: 1")


@pytest.mark.parametrize(
    "text",
    [
        pod("{nvidia.com/gpu: &two 2}"),
        pod("{nvidia.com/gpu: *two}", spec="  activeDeadlineSeconds: &two 2\n"),
        pod("*limits", spec="  overhead: &limits {nvidia.com/gpu: 2}\n"),
        pod("&limits {nvidia.com/gpu: 2}"),
        pod("&limits\n        nvidia.com/gpu: 2"),
        pod("\n        <<: &limits {nvidia.com/gpu: 2}"),
        pod("{<<: *limits}", spec="  overhead: &limits {nvidia.com/gpu: 2}\n"),
        pod("{nvidia.com/gpu: !!int '2'}"),
        pod('{nvidia.com/gpu: "\\\n        2"}'),
        pod("\n        nvidia.com/gpu: |-\n          2"),
        pod(above="# Source: chart/templates/pod.yaml\n"),
    ],
)
def test_value_that_is_shared_or_not_plain_has_no_fix(text: str, tmp_path: Path) -> None:
    (found,) = [one for one in Checked(tmp_path, text).findings if one["code"] == "GPS001"]
    assert "fix" not in found


@pytest.mark.parametrize(
    ("container", "settings"),
    [
        ("    command: [torchrun, --nproc-per-node=2, train.py]\n", {"severities": {"GPS021": "off", "GPS020": "off"}}),
        ("    command: 5\n", {"severities": {"GPS021": "off", "GPS020": "off"}}),
    ],
)
def test_amount_that_a_launcher_may_count_has_no_fix(container: str, settings: Json, tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **settings}))
    assert fixes(pod(), tmp_path, "--config", config).keys() == {"GPS001"}
    checked = Checked(tmp_path, pod(container=container), "--config", config)
    assert [(finding["code"], "fix" in finding) for finding in checked.findings] == [("GPS001", False)]


@pytest.mark.parametrize("value", ["true", "1000", "1.5", "[1]"])
def test_annotation_that_is_wrong_as_text_has_no_fix(value: str, tmp_path: Path) -> None:
    named = f"{{name: train, annotations: {{gpushare-webhook/active-thread-percentage: {value}}}}}"
    text = pod("{nvidia.com/gpu: 1}").replace("{name: train}", named)
    checked = Checked(tmp_path, text)
    assert [(finding["code"], "fix" in finding) for finding in checked.findings] == [("GPS018", False)]


@pytest.mark.parametrize(("null", "fixed"), [("null", "true"), ("~", "true"), ("false", "true")])
def test_required_field_is_set_where_it_stands(null: str, fixed: str, tmp_path: Path) -> None:
    config = tmp_path / "settings.json"
    users = {"users": {"hostIPC": "required"}}
    config.write_text(json.dumps({"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **users}))
    text = pod("{nvidia.com/gpu: 1}", spec=f"  hostIPC: {null}\n")
    (result,) = Checked(tmp_path, text, "--config", config).results
    assert applied(text, result) == text.replace(f"hostIPC: {null}", f"hostIPC: {fixed}")


@pytest.mark.parametrize(
    ("value", "instead_of", "text"),
    [
        (1, "2", "1"),
        (1, '"2"', '"1"'),
        (1, "'2'", "'1'"),
        (True, "no", "true"),
        (False, "true", "false"),
        ("/mps/nvidia.com/gpu/pipe", "/mps", "/mps/nvidia.com/gpu/pipe"),
        ("void", "all", "void"),
        ("50", "50", '"50"'),
        ("y", "n", '"y"'),
        ("a, b", "c", '"a, b"'),
        ("it's", "'its'", "'it''s'"),
        ('a"b', '"c"', '"a\\"b"'),
        ("a\tb", "'c'", '"a\\tb"'),
        ("", "x", '""'),
    ],
)
def test_spelled_has_the_value_in_yaml(value: str | int, instead_of: str, text: str) -> None:
    assert spelled(value, instead_of) == text
    read = yaml.safe_load(f"a: {{b: {text}}}")["a"]["b"]
    assert read == (str(value) if instead_of[0] in "\"'" else value)
