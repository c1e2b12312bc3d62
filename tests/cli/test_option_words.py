"""Words that are options and names of files at once, and options that are given twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

TWO = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}"
LENIENT = "limits: {perContainer: 2, perPod: 2}\n"

NAMES = [
    "--config=lenient.yaml",
    "--baseline=x.yaml",
    "--profile=none",
    "--fail-on=never",
    "--exclude=pod.yaml",
    "--unknown.yaml",
    "--help",
    "--",
    "-",
    "-h",
    "-oyaml=x.yaml",
    "-ngpu-operator",
    "-flenient.yaml",
    "-q",
]


@pytest.fixture
def repository(here: Path) -> Path:
    (here / "pod.yaml").write_text(TWO)
    (here / "lenient.yaml").write_text(LENIENT)
    (here / "strict.yaml").write_text("")
    return here


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("check", "--config", ("strict.yaml", "lenient.yaml")),
        ("check", "--facts", ("strict.yaml", "strict.yaml")),
        ("check", "--baseline", ("strict.yaml", "lenient.yaml")),
        ("check", "--fail-on", ("deny", "never")),
        ("check", "--profile", ("gke", "none")),
        ("check", "--namespace", ("team", "gpu-operator")),
        ("mutate", "--config", ("strict.yaml", "lenient.yaml")),
        ("mutate", "--facts", ("strict.yaml", "strict.yaml")),
        ("mutate", "--namespace", ("team", "gpu-operator")),
        ("config view", "--config", ("strict.yaml", "lenient.yaml")),
    ],
)
def test_option_given_twice_is_wrong_usage(
    repository: Path, command: str, option: str, values: tuple[str, ...]
) -> None:
    first, second = values
    files = () if command == "config view" else ("pod.yaml",)
    ended = run(*command.split(), option, first, f"{option}={second}", *files)
    assert (ended.code, ended.out) == (2, "")
    assert option in ended.err.splitlines()[-1]
    assert ended.err.endswith("given 2 times; give it once\n")
    assert {file.name for file in repository.iterdir()} == {"pod.yaml", "lenient.yaml", "strict.yaml"}


def test_single_value_applies(repository: Path) -> None:
    assert run("check", "pod.yaml").code == 1
    assert run("check", "pod.yaml", "--config=lenient.yaml").code == 0
    assert run("check", "pod.yaml", "--fail-on=never").code == 0
    assert run("check", "pod.yaml", "-n", "gpu-operator").code == 0


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize("name", NAMES)
def test_option_that_is_a_file_is_wrong_usage(repository: Path, command: str, name: str) -> None:
    (repository / name).write_text(TWO)
    ended = run(command, "--force-exclude", "pod.yaml", name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(
        f'Error: "{name}" is a file here; rename it, or name it "./{name}", so that it is no option\n'
    )


def test_file_in_folder_of_odd_name_is_no_option(repository: Path) -> None:
    folder = repository / "-oyaml=.github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "x.yaml").write_text(TWO)
    (repository / ".github" / "workflows").mkdir(parents=True)
    assert run("check", "--force-exclude", "pod.yaml", "-oyaml=.github/workflows/x.yaml").code == 2
    assert not (repository / ".github" / "workflows" / "x.yaml").exists()


def test_dangling_link_is_a_file(repository: Path) -> None:
    (repository / "--config=lenient.yaml").symlink_to("nowhere")
    assert run("check", "--force-exclude", "--config=lenient.yaml", "pod.yaml").code == 2


@pytest.mark.parametrize("words", [("./-n.yaml",), ("-f", "./-n.yaml"), ("--", "-n.yaml")])
def test_file_with_dash_is_read_where_it_is_no_option(repository: Path, words: tuple[str, ...]) -> None:
    (repository / "-n.yaml").write_text(TWO)
    ended = run("check", "--force-exclude", *words)
    assert ended.code == 1
    assert "-n.yaml:1:" in ended.out


def test_option_counts_where_no_file_has_its_name(repository: Path) -> None:
    assert run("check", "--force-exclude", "--config=lenient.yaml", "pod.yaml").code == 0


def test_name_of_file_reaches_no_terminal_as_command(repository: Path) -> None:
    (repository / "--config=\n::error::x\x1b[31m.yaml").write_text("")
    ended = run("check", "--force-exclude", "pod.yaml", "--config=\n::error::x\x1b[31m.yaml")
    assert ended.code == 2
    assert "\x1b" not in ended.err
    assert not any(line.startswith("::") for line in ended.err.splitlines())
