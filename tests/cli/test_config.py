"""`config`: the settings in effect, whether a file is right, and the schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.cli.run import run


@pytest.fixture
def settings(here: Path) -> Path:
    file = here / "settings.yaml"
    file.write_text("profile: gke\nseverities: {GPS005: deny}\nserver: {port: 9443}\n")
    return file


def view(*options: object) -> Any:
    ended = run("config", "view", *options)
    assert (ended.code, ended.err) == (0, "")
    return yaml.safe_load(ended.out)


def test_the_defaults_are_shown() -> None:
    shown = view()
    assert shown["apiVersion"] == "gpushare-webhook/v1"
    assert (shown["profile"], shown["mode"], shown["limits"]["perPod"]) == ("device-plugin", "enforce", 1)
    assert shown["server"]["bodyLimit"] == "28Mi"


def test_the_file_goes_before_its_profile_and_that_before_the_defaults(settings: Path) -> None:
    shown = view("--config", settings)
    assert shown["server"]["port"] == 9443
    assert shown["severities"] == {"GPS001": "warn", "GPS005": "deny"}
    assert shown["injections"]["pipeMount"]["enabled"] is False
    assert shown["server"]["healthPort"] == 8080


def test_both_formats_show_the_same(settings: Path) -> None:
    assert run("config", "view", "--config", settings, "-o", "json").json() == view("--config", settings)


def test_what_is_shown_is_a_settings_file_that_means_the_same(settings: Path) -> None:
    shown = run("config", "view", "--config", settings).out
    assert run("config", "view", "--config", "-", stdin=shown.encode()).out == shown


def test_a_right_file_is_valid(settings: Path) -> None:
    ended = run("config", "validate", "--config", settings)
    assert (ended.code, ended.out, ended.err) == (0, f"{settings}: valid\n", "")


def test_an_empty_file_is_valid(here: Path) -> None:
    (here / "empty.yaml").write_text("")
    assert run("config", "validate", "--config", "empty.yaml").code == 0


def test_settings_of_later_releases_are_valid_and_told(here: Path) -> None:
    (here / "s.yaml").write_text("facts: {namespaces: true, nodes: true}\n")
    ended = run("config", "validate", "--config", "s.yaml")
    assert (ended.code, ended.out) == (0, "s.yaml: valid\n")
    told = [line.split(": ")[1].split(" ")[0] for line in ended.err.splitlines()]
    assert sorted(told) == ["facts.namespaces", "facts.nodes"]


def test_every_problem_of_a_wrong_file_is_told_at_its_place(here: Path) -> None:
    (here / "s.yaml").write_text("mode: loud\nlimits:\n  perPod: -1\nexempted: {}\n")
    ended = run("config", "validate", "--config", "s.yaml")
    assert (ended.code, ended.out) == (2, "")
    places = [line.split(": ")[:2] for line in ended.err.splitlines()]
    assert places == [["s.yaml:1:7", "mode"], ["s.yaml:3:11", "limits.perPod"], ["s.yaml:4:11", "exempted"]]


@pytest.mark.parametrize("command", ["view", "validate"])
def test_a_file_that_is_missing(here: Path, command: str) -> None:
    ended = run("config", command, "--config", "missing.yaml")
    assert (ended.code, ended.out, ended.err) == (2, "", "missing.yaml: no such file or folder\n")


def test_the_schema_is_one_and_takes_what_is_shown(settings: Path) -> None:
    schema = run("config", "schema").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(view("--config", settings), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"mode": "loud"}, schema)
