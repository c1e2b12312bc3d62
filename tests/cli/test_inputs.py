"""Inputs: files, folders and standard input, and the diagnostics for inputs that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import recorded
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


@pytest.mark.parametrize("options", [(), ("-R",), ("--recursive",)])
def test_folder_is_read_with_all_below_it(tree: Path, options: tuple[str, ...]) -> None:
    assert names("-f", ".", *options) == ["a", "b", "d", "e", "f"]
    assert names("below", *options) == ["d", "e", "f"]
    ended = run("mutate", ".", "-o", "patch", *options)
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "5 objects: 4 edited, 1 unchanged")


def test_standard_input_beside_files(tree: Path) -> None:
    ended = run("check", "-f", "a.yml", "-f", "-", "-o", "json", stdin=POD.format(name="piped").encode())
    files = [(result["file"], result["object"]["name"]) for result in ended.json()["results"]]
    assert files == [("a.yml", "a"), ("<stdin>", "piped")]


@pytest.mark.parametrize("command", ["check", "mutate"])
def test_failed_inputs_do_not_stop_others(tree: Path, command: str) -> None:
    (tree / "b.yaml").write_text("a: [\n")
    ended = run(command, "-f", "missing.yaml", "-f", "b.yaml", "-f", "a.yml", "-f", "empty", "-o", "json")
    assert ended.code == 2
    assert [line.split(" ")[0] for line in ended.err.splitlines()][:3] == ["missing.yaml:", "b.yaml:2:1:", "empty:"]
    assert '"name": "a"' in ended.out
    ended.json()


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        (
            "--config",
            "mode: enforce\nlimits:\n  perPodd: 1\n",
            'file.yaml:3:3: limits.perPodd: unknown key "perPodd"; did you mean "perPod"?',
        ),
        ("--config", "limits: {perPod: 1\n", "file.yaml:2:1: "),
        ("--config", "a: 1\n---\nb: 2\n", "file.yaml:3:1: a second document; this file may hold only one"),
        ("--facts", "nodes: 1\n", "file.yaml:1:8: nodes: must be a list, not 1; write [] for none"),
        ("--facts", "kind: Settings\n", 'file.yaml:1:7: kind: must be "Facts", not "Settings"'),
        ("--config", "mode: audit\nitems: []\n", 'file.yaml:2:1: items: unknown key "items"; the keys here are '),
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
    assert ended.out == "0 objects: nothing to check; 1 error\n"


@pytest.mark.parametrize("command", ["check", "mutate"])
def test_only_skipped_files_are_an_error(here: Path, command: str) -> None:
    for name in ("a.yaml", "b.yaml"):
        (here / name).write_text("a: 1")
    ended = run(command, ".")
    assert ended.code == 2
    assert ended.err.startswith(".: no object here; not read: 2 not a Kubernetes object\n")
    ended = run(command, "-f", ".", "--exclude", "*")
    assert ended.code == 2
    assert ended.err.startswith(".: every file here is skipped (2 excluded by --exclude)\n")


def test_review_has_namespace_of_its_request(here: Path) -> None:
    (here / "review.json").write_bytes(recorded.body("create-pod-two-replicas"))
    (result,) = run("check", "review.json", "-n", "other", "-o", "json").json()["results"]
    assert result["object"]["namespace"] == "team-a"
    assert result["decision"] == "denied"
    finding = result["findings"][0]
    line = (here / "review.json").read_text().splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 :].startswith('"2"')


@pytest.mark.parametrize("name", [name for name in recorded.names() if name.startswith("create-")])
def test_recorded_review_gets_codes_of_the_webhook(here: Path, name: str) -> None:
    (here / "review.json").write_bytes(recorded.body(name))
    (result,) = run("check", "review.json", "--profile", "device-plugin", "-o", "json").json()["results"]
    expected = recorded.expectations()[name].get("validate", {"codes": []})["codes"]
    # GPS019 is about a pod that the other hook has not edited, which it edits after the author has sent it.
    assert {finding["code"] for finding in result["findings"]} == set(expected) - {"GPS019"}


@pytest.mark.parametrize("option", ["--config", "--facts"])
def test_chart_values_as_settings(here: Path, option: str) -> None:
    (here / "pod.yaml").write_text(POD.format(name="p"))
    (here / "values.yaml").write_text("replicas: 2\nconfig:\n  mode: audit\n")
    ended = run("check", "pod.yaml", option, "values.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "values.yaml:3:3: the chart's values: pass their `config:` part as a file of its own\n"


@pytest.mark.parametrize("option", ["--config", "--facts", "-f"])
def test_url_is_not_fetched(here: Path, option: str) -> None:
    (here / "pod.yaml").write_text(POD.format(name="p"))
    ended = run("check", "pod.yaml", option, "https://example.com/a.yaml")
    assert ended.code == 2
    assert ended.err == ("https://example.com/a.yaml: URLs are not fetched; download the file, or pipe it and name -\n")


PROGRAM = Path(sys.executable).with_name("gpushare-webhook")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        ("false | {check} -", 2, "standard input holds no object"),
        ("set -o pipefail; false | {check} -", 2, "standard input holds no object"),
        ("set -o pipefail; cat pod.yaml | {check} -", 0, ""),
        # The part that arrives before a renderer fails is checked: only pipefail reports the failure.
        ("(cat pod.yaml; exit 7) | {check} -", 0, ""),
        ("set -o pipefail; (cat pod.yaml; exit 7) | {check} -", 7, ""),
        ("{check} pod.yaml <(false)", 2, "this pipe holds no object"),
        ("{check} pod.yaml <(cat pod.yaml)", 0, ""),
        ("{check} pod.yaml -f - < /dev/null", 2, "standard input holds no object"),
    ],
)
def test_pipes(here: Path, command: str, code: int, error: str) -> None:
    (here / "pod.yaml").write_text(POD.format(name="p"))
    script = command.format(check=f"{PROGRAM} check")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code
    assert error in done.stderr
    assert bool(error) == bool(done.stderr)


def test_force_exclude_skips_named_files(tree: Path) -> None:
    (tree / "values.yaml").write_text("a: 1")
    (tree / "other.yaml").write_text("a: 1")
    ended = run("check", "values.yaml", "other.yaml", "a.yml", "--force-exclude", "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert [one["file"] for one in ended.json()["unread"]] == ["values.yaml", "other.yaml"]
    # pre-commit names the files that have changed: these may hold no manifest.
    ended = run("check", "values.yaml", "other.yaml", "--force-exclude")
    assert (ended.code, ended.err) == (0, "")
    assert run("check", "values.yaml").code == 2


def test_hints_name_what_is_meant(here: Path) -> None:
    (here / "storm.yaml").write_text("a: 1\n")
    (here / "manifests").mkdir()
    hints = {
        ("check", "storm.txt"): "storm.txt: no such file or folder",
        ("explain", "GPS022"): 'there is no check or injection "GPS022"; `gpushare-webhook explain` lists them',
        (
            "check",
            "storm.yaml",
            "--select",
            "gps022",
        ): 'there is no check "gps022"; `gpushare-webhook explain` lists them',
    }
    for arguments, hint in hints.items():
        ended = run(*arguments)
        assert ended.code == 2
        assert ended.err.endswith(f"{hint}\n")
