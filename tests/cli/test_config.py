"""`config`: the effective settings, validation, and the schema."""

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


def test_view_shows_defaults() -> None:
    shown = view()
    assert shown["apiVersion"] == "gpushare-webhook/v1"
    assert (shown["profile"], shown["mode"], shown["limits"]["perPod"]) == ("device-plugin", "enforce", 1)
    assert shown["server"]["bodyLimit"] == "28Mi"


def test_file_overrides_profile_overrides_defaults(settings: Path) -> None:
    shown = view("--config", settings)
    assert shown["server"]["port"] == 9443
    assert shown["severities"] == {"GPS005": "deny"}
    assert shown["injections"]["pipeMount"]["enabled"] is False
    assert shown["server"]["healthPort"] == 8080


def test_view_output_is_an_equivalent_settings_file(settings: Path) -> None:
    shown = run("config", "view", "--config", settings).out
    again = run("config", "view", "--config", "-", "-o", "json", stdin=shown.encode())
    assert again.json() == view("--config", settings)


ORIGINS = """\
profile: kai
severities: {GPS001: warn}
limits:
  perContainer: 2
exempt:
  namespaces:
  - team-a
facts: {devicePlugin: plugin/config}
placement:
  mpsLabels: {example.com/mps: "yes"}
"""


def commented(*options: object) -> list[str]:
    return [line.strip() for line in run("config", "view", *options).out.splitlines() if "  # " in line]


def test_view_names_origin_of_each_value(here: Path) -> None:
    (here / "settings.yaml").write_text(ORIGINS)
    assert commented("--config", "settings.yaml") == [
        "profile: kai  # settings.yaml:1",
        "resources:  # profile kai",
        "perContainer: 2  # settings.yaml:4",
        "GPS005: 'off'  # profile kai",
        "GPS001: warn  # settings.yaml:2",
        "namespaces:  # settings.yaml:7",
        "enabled: false  # profile kai",
        "containerRoot: /tmp/nvidia-mps  # profile kai",
        "perResource: false  # profile kai",
        "mpsRoot: /tmp/nvidia-mps  # profile kai",
        "type: DirectoryOrCreate  # profile kai",
        "annotations:  # profile kai",
        "example.com/mps: 'yes'  # settings.yaml:10",
        "configMaps:  # settings.yaml:8",
        "daemonSet: null  # settings.yaml:8",
        "version: null  # settings.yaml:8",
    ]


def test_view_of_defaults_has_no_origins() -> None:
    assert commented() == []
    assert run("config", "view").out.startswith("# Values without a comment are the defaults.\napiVersion:")


def test_view_names_line_in_json_file(here: Path) -> None:
    (here / "settings.json").write_text('{\n  "limits": {\n    "perPod": null\n  }\n}\n')
    assert commented("--config", "settings.json") == ["perPod: null  # settings.json:3"]


def test_view_comment_with_hostile_file_name(here: Path) -> None:
    (here / "a\n::error::b").write_text("mode: warn\n")
    out = run("config", "view", "--config", "a\n::error::b").out
    assert "mode: warn  # a?::error::b:1\n" in out


def test_validate_accepts_valid_file(settings: Path) -> None:
    ended = run("config", "validate", "--config", settings)
    assert (ended.code, ended.out, ended.err) == (0, f"{settings}: valid\n", "")


def test_validate_names_standard_input_as_its_problems_do() -> None:
    ended = run("config", "validate", "--config", "-", stdin=b"workloads: {presets: [ray]}\n")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("<stdin>:1:23: workloads.presets[0]: must be ")
    assert (
        run("config", "validate", "--config", "-", stdin=b"workloads: {presets: [kuberay]}\n").out == "<stdin>: valid\n"
    )


def test_schema_of_facts_accepts_facts_only() -> None:
    schema = run("config", "schema", "facts").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"kind": "Facts", "nodes": [{"name": "gpu-1"}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "Settings"}, schema)
    assert run("config", "schema", "settings").json() == run("config", "schema").json()
    assert run("config", "schema", "pods").code == 2


def test_schema_accepts_view_output(settings: Path) -> None:
    schema = run("config", "schema").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(view("--config", settings), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"mode": "loud"}, schema)


def test_validate_takes_file_as_argument(here: Path) -> None:
    (here / "s.yaml").write_text("profile: gke\n")
    assert run("config", "validate", "s.yaml").out == "s.yaml: valid\n"
    assert run("config", "validate", "-", stdin=b"profile: gke\n").out == "<stdin>: valid\n"
    assert run("config", "validate", "missing.yaml").err == "missing.yaml: no such file or folder\n"
    both = run("config", "validate", "s.yaml", "--config", "s.yaml")
    assert (both.code, "leave out one of them" in both.err) == (2, True)


def test_validate_finds_file_of_repository(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "sub").mkdir()
    (here / ".git").mkdir()
    monkeypatch.chdir(here / "sub")
    ended = run("config", "validate")
    assert ended.code == 2
    assert "there is no .gpushare.yaml here; name a settings file" in ended.err
    (here / ".gpushare.yaml").write_text("profile: gke\n")
    assert run("config", "validate").out == "../.gpushare.yaml, found in this repository: valid\n"
    (here / ".gpushare.yaml").write_text("profil: gke\n")
    assert run("config", "validate").code == 2
    (here / "other.yaml").write_text("{}\n")
    monkeypatch.setenv("GPUSHARE_CONFIG", "../other.yaml")
    assert run("config", "validate").out == "../other.yaml, named by GPUSHARE_CONFIG: valid\n"


def test_text_in_place_of_list_is_put_in_brackets(here: Path) -> None:
    settings = b"namespaces:\n- names: %s\n  severities: {GPS001: warn}\n"
    for given, remedy in ((b"team-a", "write [team-a]"), (b"'a b'", "write [] for none"), (b"1", "write [] for none")):
        assert run("config", "validate", "-", stdin=settings % given).err.endswith(f"; {remedy}\n")
