"""`--select` and `--ignore`: which checks a run makes, and what the report says about the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ended, run


def found(ended: Ended) -> list[str]:
    return [finding["code"] for result in ended.json()["results"] for finding in result["findings"]]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], ["GPS001", "GPS004", "GPS005", "GPS009"]),
        (["--select", "gps004, GPS009"], ["GPS004", "GPS009"]),
        (["--select", "GPS004", "--select", "GPS009,"], ["GPS004", "GPS009"]),
        (["--ignore", "GPS001,gps004"], ["GPS005", "GPS009"]),
        (["--select", "GPS001,GPS004", "--ignore", "GPS001"], ["GPS004"]),
        (["--ignore", "GPS001", "--select", "GPS001,GPS004"], ["GPS004"]),
    ],
)
def test_only_selected_checks_run(data: Path, options: list[str], codes: list[str]) -> None:
    ended = run("check", "pods.yaml", "--profile", "device-plugin", "-o", "json", *options)
    assert sorted(found(ended)) == codes


def test_decision_follows_from_the_remaining_checks(data: Path) -> None:
    ended = run("check", "pods.yaml", "--profile", "device-plugin", "--ignore", "GPS001,GPS004", "-o", "json")
    assert [one["decision"] for one in ended.json()["results"]] == ["allowed", "skipped", "warned"]
    assert ended.code == 0
    assert run("check", "pods.yaml", "--ignore", "GPS001").code == 1


def test_selection_overrides_severities_of_namespaces(data: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("namespaces: [{names: ['*'], severities: {GPS001: deny}}]\n")
    ended = run("check", "pods.yaml", "--config", settings, "--ignore", "GPS001", "-o", "json")
    assert "GPS001" not in found(ended)


MANY = "apiVersion: v1\nkind: Pod\nmetadata: {name: many}\nspec:\n  containers:\n" + "".join(
    f"  - {{name: c{n}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}\n" for n in range(25)
)


def test_ignored_check_leaves_no_omitted_findings(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text(MANY)
    [result] = run("check", file, "--ignore", "GPS001,GPS002", "-o", "json").json()["results"]
    assert (result["decision"], result["findings"], result.get("omitted")) == ("allowed", [], None)
    [result] = run("check", file, "--select", "GPS001", "-o", "json").json()["results"]
    assert result["omitted"] == {"GPS001": 5}


USERS = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {securityContext: {runAsUser: 1}, containers: [{name: c,
    resources: {limits: {nvidia.com/gpu: 1}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {securityContext: {runAsUser: 2}, containers: [{name: c,
    resources: {limits: {nvidia.com/gpu: 1}}}]}}
"""


def test_users_of_several_objects_are_not_compared_when_ignored() -> None:
    checked = ("check", "-", "--profile", "device-plugin", "-o", "json")
    assert found(run(*checked, stdin=USERS.encode())) == ["GPS008"]
    assert found(run(*checked, "--ignore", "GPS008", stdin=USERS.encode())) == []


UNKNOWN_KIND = b"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, gpus: {nvidia.com/gpu: 2}}\n"


def test_object_of_which_nothing_is_checked_is_skipped_not_allowed() -> None:
    assert found(run("check", "-", "-o", "json", stdin=UNKNOWN_KIND)) == ["GPS023"]
    ended = run("check", "-", "-o", "json", "--ignore", "GPS023", "--fail-on", "skipped", stdin=UNKNOWN_KIND)
    assert (ended.json()["results"][0]["decision"], ended.code) == ("skipped", 1)


def test_errors_are_never_hidden(data: Path) -> None:
    ended = run("check", "malformed.yaml", "--select", "GPS001", "--fail-on", "never")
    assert ended.code == 2
    assert "malformed.yaml" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ignore", "gps009,GPS001"], "GPS001, GPS009 not checked (--ignore)\n"),
        (["--select", "GPS001"], "only GPS001 checked (--select)\n"),
        (["--select", "GPS001,GPS009", "--ignore", "GPS001"], "only GPS009 checked (--select, --ignore)\n"),
    ],
)
def test_summary_names_what_is_not_checked(data: Path, options: list[str], said: str) -> None:
    assert said in run("check", "pods.yaml", *options).out
    left_out: Any = run("check", "pods.yaml", *options, "-o", "json").json()["notChecked"]
    assert "GPS009" in left_out or "GPS001" in left_out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ignore", "GPS01"], 'there is no check "GPS01"; `gpushare-webhook explain` lists them'),
        (
            ["--select", "GPS001,nothing,more"],
            'there is no check "nothing", "more"; `gpushare-webhook explain` lists them',
        ),
        (["--ignore", " , "], "names no check; name one, such as GPS001"),
        (["--select", "GPS001", "--ignore", "GPS001"], "--select and --ignore: no check remains; name other codes"),
        (["--ignore", "a\nb"], '"a?b"'),
    ],
)
def test_wrong_codes_are_wrong_usage(data: Path, options: list[str], said: str) -> None:
    ended = run("check", "pods.yaml", *options)
    assert ended.code == 2
    assert said in ended.err


def test_mutate_has_no_selection(data: Path) -> None:
    assert run("mutate", "-f", "pods.yaml", "--ignore", "GPS001").code == 2
