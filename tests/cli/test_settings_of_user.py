"""The settings that apply to a run: an option, a variable, a file of the repository, a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

TWO = (
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
    "[{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}"
)
LENIENT = "limits: {perContainer: 2, perPod: 2}\n"


@pytest.fixture
def repository(here: Path) -> Path:
    """A repository with a pod that the defaults deny; the working directory is two folders below its root."""
    (here / ".git").mkdir()
    (here / "apps" / "train").mkdir(parents=True)
    (here / "apps" / "train" / "pod.yaml").write_text(TWO)
    return here


@pytest.fixture(params=["", "apps", "apps/train"])
def settings(request: pytest.FixtureRequest, repository: Path) -> Path:
    """A settings file of the repository, at its root or below."""
    file: Path = repository / request.param / ".gpushare.yaml"
    file.write_text(LENIENT)
    return file


@pytest.fixture
def train(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repository / "apps" / "train")
    return repository


def test_settings_file_of_repository_applies_and_is_named(settings: Path, train: Path) -> None:
    ended = run("check", "pod.yaml")
    named = Path(ended.out.rpartition("settings: ")[2].partition(",")[0])
    assert (ended.code, named.resolve()) == (0, settings)
    assert "found in this repository" in ended.out
    assert run("check", "pod.yaml", "-o", "json").json()["settings"].endswith(", found in this repository")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"apps/.gpushare.yaml": "limits: {perContainer: 1}\n"}, 1),  # the nearest file applies
        ({"apps/.git": "gitdir: elsewhere\n"}, 1),  # a repository of its own
        ({"apps/.git": "gitdir: elsewhere\n", "apps/.gpushare.yaml": LENIENT}, 0),
    ],
)
def test_nearest_settings_file_of_repository_applies(train: Path, files: dict[str, str], code: int) -> None:
    for name, text in {".gpushare.yaml": LENIENT, **files}.items():
        (train / name).write_text(text)
    assert run("check", "pod.yaml").code == code


def test_outside_repository_only_working_directory_counts(train: Path) -> None:
    (train / ".git").rmdir()
    (train / ".gpushare.yaml").write_text(LENIENT)
    assert run("check", "pod.yaml").code == 1
    (train / "apps" / "train" / ".gpushare.yaml").write_text(LENIENT)
    assert run("check", "pod.yaml").code == 0


def test_option_overrides_variable_and_variable_overrides_repository(
    train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (train / ".gpushare.yaml").write_text(LENIENT)
    (train / "strict.yaml").write_text("mode: enforce\n")
    monkeypatch.setenv("GPUSHARE_CONFIG", "../../strict.yaml")
    ended = run("check", "pod.yaml")
    assert (ended.code, "settings: ../../strict.yaml, named by GPUSHARE_CONFIG" in ended.out) == (1, True)
    ended = run("check", "pod.yaml", "--config", "../../.gpushare.yaml")
    assert (ended.code, ended.out) == (0, "1 object: 1 allowed\n")


def test_missing_file_of_variable_is_an_error(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUSHARE_CONFIG", "missing.yaml")
    ended = run("check", "pod.yaml")
    assert (ended.code, ended.err) == (2, "missing.yaml: no such file or folder\n")


def test_wrong_settings_file_of_repository_is_an_error_with_line(train: Path) -> None:
    (train / ".gpushare.yaml").write_text("limits:\n  perContaine: 2\n")
    ended = run("check", "pod.yaml")
    assert ended.code == 2
    assert ended.err.startswith("../../.gpushare.yaml:2:")


def test_mutate_follows_settings_of_repository(train: Path) -> None:
    assert run("mutate", "-f", "pod.yaml").code == 1
    (train / ".gpushare.yaml").write_text(LENIENT)
    assert run("mutate", "-f", "pod.yaml").code == 0


def test_config_view_shows_settings_of_repository(train: Path) -> None:
    (train / ".gpushare.yaml").write_text("limits: {perContainer: 2}\n")
    shown = run("config", "view").out.splitlines()
    assert shown[0] == "# The settings file is ../../.gpushare.yaml, found in this repository."
    assert [line for line in shown if line.startswith("  perContainer: 2  # ")]
    assert run("config", "view", "--config", "/dev/null").out.startswith("# Values without a comment are the defaults.")


def test_profile_option_overrides_profile_of_file(train: Path) -> None:
    (train / "gke.yaml").write_text("profile: gke\n")
    one = TWO.replace("gpu: 2", "gpu: 1").replace(
        "spec: {", "spec: {nodeSelector: {cloud.google.com/gke-gpu-sharing-strategy: mps}, "
    )
    (train / "apps/train/pod.yaml").write_text(one)
    config = ("--config", "../../gke.yaml")

    def codes(*options: str) -> list[str]:
        (result,) = run("check", "pod.yaml", "-o", "json", *options).json()["results"]
        return [finding["code"] for finding in result["findings"]]

    assert codes(*config) == codes("--profile", "gke") == ["GPS009"]
    assert codes(*config, "--profile", "device-plugin") == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--profile", "eks"), "'eks' is not one of 'device-plugin'"),
        (("--profile", "gke", "--installed-as", "a/b"), "--profile and --installed-as: both name the settings"),
    ],
)
def test_unknown_or_contradicting_profile_is_wrong_usage(train: Path, options: tuple[str, ...], said: str) -> None:
    ended = run("check", "pod.yaml", *options)
    assert (ended.code, said in ended.err) == (2, True)
