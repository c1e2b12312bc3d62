"""`mutate -o yaml`: the text of the files with the edits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from tests.cli.run import run
from tests.report.rewriting import FILE, expected, rewritten, values
from tests.report.test_rewrite import POD, files

DENIED = POD.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 2")
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"


def edited(text: str) -> str:
    """Return the text of a file with the edits of its objects."""
    return rewritten(text.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"# A license.\n---\n# Source: a\n{POD}--- # the last\n{MAP}...\n",
        f"{POD}---\n{MAP}".removesuffix("\n"),
        POD.replace("\n", "\r\n"),
    ],
    ids=["comments", "no line break at the end", "CRLF"],
)
def test_yaml_keeps_text_of_file(here: Path, text: str) -> None:
    (here / "a.yaml").write_bytes(text.encode())
    ended = run("mutate", "a.yaml", "-o", "yaml=out.yaml")
    assert (here / "out.yaml").read_bytes().decode() == edited(text)
    assert "written as new YAML" not in ended.err
    assert run("mutate", "a.yaml").out == edited(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=files())
def test_yaml_of_any_style_holds_the_edits(here: Path, data: bytes) -> None:
    (here / FILE).write_bytes(data)
    run("mutate", FILE, "-o", "yaml=out.yaml")
    assert values((here / "out.yaml").read_bytes()) == [one for one in expected(data) if one is not None]


def test_byte_order_mark_is_left_out(here: Path) -> None:
    (here / "a.yaml").write_bytes(b"\xef\xbb\xbf---\n" + POD.encode())
    assert run("mutate", "a.yaml", "a.yaml").out == f"---\n{edited(POD)}" * 2


def test_rest_of_a_file_with_denied_and_broken_documents_keeps_its_text(here: Path) -> None:
    (here / "a.yaml").write_text(
        f"# Head.\n---\n{DENIED}---\n{POD}---\na: [\n---\nx: 1\n---\n{DENIED}---\n# Last.\n{MAP}"
    )
    ended = run("mutate", "a.yaml")
    assert ended.code == 2
    assert "written as new YAML" not in ended.err
    assert ended.out == f"{edited(POD)}---\n# Last.\n{MAP}"


def test_documents_without_objects_are_left_out(here: Path) -> None:
    (here / "a.yaml").write_text(f"---\n---\n{POD}---\n# Nothing.\n---\n{MAP}---\n")
    assert run("mutate", "a.yaml").out == f"{edited(POD)}---\n{MAP}"


def test_files_are_separated(here: Path) -> None:
    (here / "a.yaml").write_text(MAP.removesuffix("\n"))
    (here / "b.yaml").write_text(MAP)
    (here / "c.yaml").write_text(f"---\n{MAP}")
    (here / "d.yaml").write_text(f"# Head.\n{MAP}")
    assert run("mutate", ".").out == f"{MAP}---\n{MAP}---\n{MAP}---\n# Head.\n{MAP}"


LIST = f"apiVersion: v1\nkind: List\nitems:\n- {POD.replace(chr(10), chr(10) + '  ').rstrip()}\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(yaml.safe_load(POD)), "the input is JSON"),
        (LIST, "the objects of a list become documents"),
        (POD.replace("\n  name: p", " {name: p}"), "a mapping or list in braces or brackets cannot be edited"),
        (
            POD.replace(
                "    resources: {limits: {nvidia.com/gpu: 1}}\n",
                "    resources: {limits: {nvidia.com/gpu: 1}}\n    ? env\n",
            ),
            'a key after "?" has no value',
        ),
        (f"{POD}    env: &env []\n  initContainers:\n  - {{name: d, env: *env}}\n", "a document with an alias cannot"),
        (f"{POD}    command: [sh, -c, '##[group]x']\n", "a CI system would read a line as a command"),
    ],
)
def test_new_yaml_is_noted_once(here: Path, text: str, reason: str) -> None:
    (here / "a.yaml").write_text(text)
    ended = run("mutate", "a.yaml")
    assert ended.code == 0
    assert ended.err.count("written as new YAML") == 1
    assert reason in ended.err
    assert "a.yaml:" in ended.err
    assert yaml.safe_load(ended.out)["spec"]["runtimeClassName"] == "nvidia"
    assert run("mutate", "a.yaml", "-q").err == ""


def test_note_counts_further_objects(here: Path) -> None:
    (here / "a.yaml").write_text(f"{LIST}{LIST.split('items:' + chr(10))[1]}---\n{MAP}")
    ended = run("mutate", "a.yaml")
    assert "Pod p (and 1 more object): written as new YAML" in ended.err
    assert [one["kind"] for one in yaml.safe_load_all(ended.out)] == ["Pod", "Pod", "ConfigMap"]
