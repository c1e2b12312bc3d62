"""Inputs: files, folders and standard input, and the diagnostics for inputs that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: c, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
"""


@pytest.fixture
def tree(here: Path) -> Path:
    """Manifests on two levels, and other files."""
    for file in ("b.yaml", "a.yml", "c.json.bak", "notes.txt", "below/d.yaml", "below/deeper/e.yaml"):
        path = here / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POD.format(name=path.stem) if path.suffix in (".yaml", ".yml") else "not a manifest: [")
    (here / "below" / "f.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "f"}}')
    return here


def names(*options: object, stdin: bytes = b"") -> list[str]:
    report = run("check", "-o", "json", *options, stdin=stdin).json()
    return [result["object"]["name"] for result in report["results"]]


def test_folder_is_read_one_level_deep(tree: Path) -> None:
    assert names("-f", ".") == ["a", "b"]


def test_recursive_folder(tree: Path) -> None:
    assert names("-R", "-f", ".") == ["a", "b", "d", "e", "f"]


def test_inputs_keep_order(tree: Path) -> None:
    assert names("-f", "below", "-f", "b.yaml", "-f", "a.yml") == ["d", "f", "b", "a"]


def test_standard_input_beside_files(tree: Path) -> None:
    ended = run("check", "-f", "a.yml", "-f", "-", "-o", "json", stdin=POD.format(name="piped").encode())
    files = [(result["file"], result["object"]["name"]) for result in ended.json()["results"]]
    assert files == [("a.yml", "a"), ("<stdin>", "piped")]


@pytest.mark.parametrize("command", ["check", "mutate"])
def test_failed_inputs_do_not_stop_others(tree: Path, command: str) -> None:
    (tree / "b.yaml").write_text("a: [\n")
    ended = run(command, "-f", "missing.yaml", "-f", "b.yaml", "-f", "a.yml", "-f", "empty", "-o", "json")
    assert ended.code == 2
    assert [line.split(" ")[0] for line in ended.err.splitlines()] == ["missing.yaml:", "b.yaml:2:1:", "empty:"]
    assert '"name": "a"' in ended.out
    ended.json()


def test_errors_go_to_standard_error_and_json(data: Path) -> None:
    ended = run("check", "-f", "unreadable.yaml", "-f", "malformed.yaml", "-f", "missing", "-o", "json")
    assert ended.json()["summary"] == {
        "objects": 0,
        "allowed": 0,
        "warned": 0,
        "denied": 0,
        "skipped": 0,
        "errors": 3,
    }
    assert ended.json()["errors"] == [
        {"file": "unreadable.yaml", "line": 4, "column": 9, "message": "the quote that opens here is never closed"},
        {
            "file": "malformed.yaml",
            "line": 6,
            "column": 15,
            "message": "spec.containers: expected a list, found a mapping",
        },
        {"file": "missing", "line": 0, "column": 0, "message": "no such file or folder"},
    ]
    assert ended.err.splitlines() == [
        "unreadable.yaml:4:9: the quote that opens here is never closed",
        "malformed.yaml:6:15: spec.containers: expected a list, found a mapping",
        "missing: no such file or folder",
    ]


MALFORMED = {
    "spec: []": (3, 7, "spec: expected a mapping, found a list"),
    "spec: {containers: x}": (3, 20, "spec.containers: expected a list, found text"),
    "spec: {containers: [c]}": (3, 21, "spec.containers[0]: expected a mapping, found text"),
    "spec: {containers: [{resources: 1}]}": (3, 33, "spec.containers[0].resources: expected a mapping, found a number"),
    "metadata: []": (3, 11, "metadata: expected a mapping, found a list"),
    "metadata: {name: 1}": (3, 18, "metadata.name: expected text, found a number"),
}


@pytest.mark.parametrize("wrong", MALFORMED)
def test_malformed_object_has_position(here: Path, wrong: str) -> None:
    line, column, said = MALFORMED[wrong]
    (here / "pod.yaml").write_text(f"apiVersion: v1\nkind: Pod\n{wrong}\n")
    ended = run("check", "-f", "pod.yaml")
    assert (ended.code, ended.err) == (2, f"pod.yaml:{line}:{column}: {said}\n")
    assert ended.out == "0 objects: nothing to check; 1 input could not be read\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\n", "thing.yaml:1:1: no `kind`: not a Kubernetes object\n"),
        ("apiVersion: v1\nkind:\n", "thing.yaml:2:6: no `kind`: not a Kubernetes object\n"),
        ("kind: Pod\n", "thing.yaml:1:1: no `apiVersion`: not a Kubernetes object\n"),
        ("a: 1\n", "thing.yaml:1:1: no `kind` and no `apiVersion`: not a Kubernetes object\n"),
        (
            "apiVersion: v1\nkind: List\nitems:\n- a: 1\n",
            "thing.yaml:4:3: kind: expected text, found empty text\n",
        ),
        ('apiVersion: v1\nkind: ""\n', "thing.yaml:2:7: kind: expected text, found empty text\n"),
    ],
)
def test_object_without_kind_is_malformed(here: Path, text: str, said: str) -> None:
    (here / "thing.yaml").write_text(text)
    ended = run("check", "-f", "thing.yaml")
    assert (ended.code, ended.err) == (2, said)


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        (
            "--config",
            "mode: enforce\nlimits:\n  perPodd: 1\n",
            'file.yaml:3:12: limits.perPodd: unknown key "perPodd"; did you mean "perPod"?',
        ),
        ("--config", "limits: {perPod: 1\n", "file.yaml:2:1: "),
        ("--config", "a: 1\n---\nb: 2\n", "file.yaml:3:1: a second document; this file may hold only one"),
        ("--facts", "nodes: 1\n", "file.yaml:1:8: nodes: must be a list, not 1; write [] for none"),
        ("--facts", "kind: Settings\n", 'file.yaml:1:7: kind: must be "Facts", not "Settings"'),
        ("--config", "mode: audit\nitems: []\n", 'file.yaml:2:8: items: unknown key "items"; the keys here are '),
        ("--config", "- mode: audit\n", "file.yaml:1:1: must be a mapping, not a list\n"),
    ],
)
def test_wrong_settings_and_facts_have_position_and_key(
    here: Path, command: str, option: str, text: str, said: str
) -> None:
    (here / "file.yaml").write_text(text)
    (here / "pod.yaml").write_text(POD.format(name="p"))
    ended = run(command, "-f", "pod.yaml", option, "file.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)


@pytest.mark.parametrize("option", ["--config", "--facts"])
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("missing.yaml", "missing.yaml: no such file or folder"),
        (".", ".: is a folder; name a file"),
        ("", '"": the name is empty; name a file'),
        ("x" * 300, f"{'x' * 300}: file name too long"),
    ],
)
def test_unreadable_settings_and_facts(tree: Path, option: str, file: str, said: str) -> None:
    ended = run("check", "-f", "a.yml", option, file)
    assert (ended.code, ended.out, ended.err) == (2, "", f"{said}\n")


def test_empty_file_name_is_not_current_folder(tree: Path) -> None:
    ended = run("check", "-f", "")
    assert (ended.code, ended.err) == (2, '"": the name is empty; name a file\n')
    assert ended.out == "0 objects: nothing to check; 1 input could not be read\n"
