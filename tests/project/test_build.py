"""How the project is built and tested: versions, licence, pins, layers, and what `make test` runs."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import version

import pytest

from tests.project.repository import ROOT, dry_run, name, project, tracked
from webhook import __version__


def test_version_has_one_source() -> None:
    assert project()["project"]["dynamic"] == ["version"]
    assert "version" not in project()["project"]
    assert project()["tool"]["hatch"]["version"]["path"] == "webhook/__init__.py"
    assert version("gpushare-webhook") == __version__
    pinned = re.compile(rf"(?<![\w.=>-]){re.escape(__version__)}(?![\w.])")
    code = [file for file in tracked() if file.suffix in (".py", ".toml", ".yaml") or file.name == "Makefile"]
    # The chart's is written from it; tests/chart compares them.
    generated = ["charts/gpushare-webhook/Chart.yaml"]
    assert [name(file) for file in code if pinned.search(file.read_text())] == [*generated, "webhook/__init__.py"]


def test_changelog_has_section_for_version() -> None:
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/install.md", "docs/how-to/release.md"])
def test_page_names_current_version_of_image_and_chart(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"(?:gpushare-webhook[:-]|IMAGE:|VERSION=)(\d[\w.-]*?)(?=\"|\.tgz|\s)", text)
    assert set(named) == {__version__}


def test_licence_is_complete() -> None:
    licence = (ROOT / "LICENSE").read_text()
    assert licence.split()[:6] == ["Apache", "License", "Version", "2.0,", "January", "2004"]
    for part in ("1. Definitions.", "9. Accepting Warranty", "END OF TERMS AND CONDITIONS"):
        assert part in licence
    assert project()["project"]["license"] == "Apache-2.0"
    assert project()["project"]["license-files"] == ["LICENSE"]


def test_make_test_runs_every_check() -> None:
    commands = dry_run("test")
    for tool in ("ruff check .", "ruff format --check .", "mypy", "lint-imports"):
        assert f"/{tool}\n" in commands
    assert project()["tool"]["coverage"]["report"]["fail_under"] == 100
    assert project()["tool"]["mypy"]["strict"] is True
    assert project()["tool"]["pytest"]["ini_options"]["filterwarnings"] == ["error"]


def runs(target: str) -> list[list[str]]:
    """The arguments of pytest in the commands of a target."""
    return [line.split(" -m pytest ", 1)[1].split() for line in dry_run(target).splitlines() if " -m pytest " in line]


def left_out(run: list[str]) -> set[str]:
    """The files and folders that a run leaves out."""
    return {word.removeprefix("--ignore=") for word in run if word.startswith("--ignore=")}


def test_targets_of_tests_run_every_test_once() -> None:
    """Each part of `unit` takes folders or leaves them out: together they are all folders, slow tests included."""
    quick, untraced, others = runs("unit")
    (chart,), (load,) = runs("test-chart"), runs("test-load")
    covering, with_go, loading = ([word for word in part if word[:6] == "tests/"] for part in (quick, chart, load))
    assert "--cov" in quick
    assert ' -m "not slow and not hypothesis" ' in " ".join(quick)
    assert ' -m "slow or hypothesis" ' in " ".join(untraced)
    files = [file for part in covering for file in tracked(part) if file.suffix == ".py"]
    texts = {name(file): file.read_text() for file in files}
    assert left_out(quick) == {file for file, text in texts.items() if "\npytestmark = pytest.mark.slow" in text}
    in_part = {file for file, text in texts.items() if "mark.slow" in text or "@given" in text}
    assert {word for word in untraced if word.startswith("tests/")} == in_part
    assert left_out(others) == {*covering, *with_go, *loading}
    assert "-m" not in others + chart + load
    assert "--numprocesses" not in " ".join(load), "another test beside it would be measured too"


def test_make_test_needs_no_go() -> None:
    commands = dry_run("test")
    assert "tests.chart.tools" not in commands
    assert "tests.crds" not in commands
    assert "tests.chart.tools" in dry_run("test-chart")


def test_make_test_leaves_exhaustive_tests_out() -> None:
    for target, choice in (("unit", "none"), ("test-all", "all")):
        for part in runs(target):
            assert part[part.index("--exhaustive") + 1] == choice


def test_ci_runs_every_suite() -> None:
    ci = ROOT / ".ci" / "run"
    assert os.access(ci, os.X_OK)
    made = re.findall(r"^make (.*)$", ci.read_text(), re.MULTILINE)
    assert [[word for word in line.split() if re.fullmatch(r"[a-z][a-z-]+", word)] for line in made] == [
        ["cluster-tools", "chart-tools", "bench-tools", "crd-definitions", "plugin-loaders"],
        ["test", "test-load"],
        ["test-cluster"],
        ["test-chart", "sbom", "site"],
        ["budget"],
        ["bench-gate", "demo-cluster"],
    ]
    assert not re.search("EXHAUSTIVE|git ", ci.read_text()), "every commit runs the same tests"


def test_every_package_is_in_a_layer() -> None:
    (layers,) = [one for one in project()["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    named = set(re.findall(r"webhook\.(\w+)", " ".join(layers["layers"])))
    packages = {file.parent.name for file in tracked("webhook/*/__init__.py") if file.parent.parent.name == "webhook"}
    modules = {file.stem for file in tracked("webhook/*.py") if file.parent.name == "webhook"}
    assert named == packages | modules - {"__init__", "__main__"}


def canonical(requirement: str) -> str:
    return re.split(r"[<>=!~\[; ]", requirement)[0].lower().replace("_", "-")


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    return {canonical(line): line.partition("==")[2] for line in lines}


def optional() -> dict[str, list[str]]:
    """The requirements of each extra, without other extras of the project."""
    extras = project()["project"]["optional-dependencies"]
    return {extra: [one for one in wanted if "[" not in one] for extra, wanted in extras.items()}


def dependencies() -> list[str]:
    """The requirements of the project with all extras."""
    return [*project()["project"]["dependencies"], *(one for wanted in optional().values() for one in wanted)]


def test_every_dependency_is_pinned() -> None:
    wanted = [*dependencies(), *project()["dependency-groups"]["dev"]]
    assert [one for one in map(canonical, wanted) if one not in pins()] == []
    assert {one: pins()[one] for one in map(canonical, wanted)} == {one: version(one) for one in map(canonical, wanted)}


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the table below a head, cell by cell."""
    body = page.partition(f"{head}\n")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in body.splitlines()[1:]]


def test_every_dependency_and_upper_bound_is_justified() -> None:
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    rows = table(page, "| package | use | extra |")
    extras = {canonical(one): f"`{extra}`" for extra, wanted in optional().items() for one in wanted}
    assert {row[0].lower(): row[2] for row in rows} == {
        one: extras.get(one, "-") for one in map(canonical, dependencies())
    }
    bounds = {(canonical(one), one.partition("<")[2]) for one in dependencies() if "<" in one}
    assert set(re.findall(r"^\| (\w+) below ([\d.]+) \|", page, re.MULTILINE)) == bounds


@pytest.mark.parametrize("target", ["demo", "serve", "test", "quick", "certs", "sbom"])
def test_make_help_lists_user_targets(target: str) -> None:
    shown = subprocess.check_output(["make", "help"], cwd=ROOT, text=True, timeout=20)
    assert re.search(rf"^  {target} +\w", shown, re.MULTILINE)
