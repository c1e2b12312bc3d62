"""The wheel of gpushare-check contains the modules that its commands import, and no others."""

from __future__ import annotations

import ast
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.project.repository import ROOT, project
from tests.project.test_build import canonical, table
from tests.project.test_imports import imported, product_modules
from webhook.cli import COMMANDS

LIGHT: dict[str, Any] = tomllib.loads((ROOT / "light" / "pyproject.toml").read_text())

GUARDED = {
    ("webhook.cli.cluster_options", "webhook.cluster.kubeconfig"),
    ("webhook.cli.evaluator", "webhook.cli.live"),
}
"""The imports of modules that the wheel lacks: each follows a call of `webhook.cli.distribution`."""

BELOW_PYDANTIC = {"pydantic-core"}
"""What is imported of a package that another dependency is made of."""


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, ast.Module]:
    """The modules of the wheel by their dotted names."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if name.endswith(".py")}
        assert {name.partition("/")[0] for name in files} == {"webhook"}
        assert "webhook/py.typed" in archive.namelist()
        parsed = {name: ast.parse(archive.read(name)) for name in files}
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree for name, tree in parsed.items()}


def registers(tree: ast.Module) -> bool:
    """Whether a package imports its modules by name."""
    return "import_module(f'{__name__}." in ast.unparse(tree)


def reached(start: list[str], trees: Mapping[str, ast.Module]) -> set[str]:
    """The modules that the first ones import, directly or by others, with their packages."""
    found: set[str] = set()
    waiting = [*start]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        waiting += imported(trees[module], trees)
        waiting += [package] if (package := module.rpartition(".")[0]) in trees else []
        if registers(trees[module]):
            waiting += [other for other in trees if other.rpartition(".")[0] == module]
    return found


def libraries(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """The canonical names of the distributions that modules import."""
    known = packages_distributions()
    for tree in trees.values():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"webhook"}:
                (distribution,) = known[top]
                yield canonical(distribution)


def test_project_files_agree() -> None:
    light, full = LIGHT["project"], project()["project"]
    for key in ("license", "license-files", "requires-python", "scripts"):
        assert light[key] == full[key]
    assert (LIGHT["build-system"], LIGHT["tool"]["hatch"]["version"]) == (
        project()["build-system"],
        project()["tool"]["hatch"]["version"],
    )
    assert set(light["dependencies"]) < set(full["dependencies"])


def test_excluded_paths_exist() -> None:
    """A path of a module that was renamed would exclude nothing."""
    excluded = LIGHT["tool"]["hatch"]["build"]["exclude"]
    assert excluded == sorted(excluded)
    assert [path for path in excluded if not (ROOT / path.removeprefix("/")).exists()] == []


def test_page_names_dependencies_of_both() -> None:
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    rows = table(page, "| package | installed, with what it depends on | in `gpushare-check` |")
    included = {package.lower(): reason.partition(":")[0] == "yes" for package, _, reason in rows}
    assert included.keys() == set(map(canonical, project()["project"]["dependencies"]))
    light = set(map(canonical, LIGHT["project"]["dependencies"]))
    assert {package for package, is_included in included.items() if is_included} == light


@pytest.mark.slow
def test_modules_are_those_of_tree(contents: dict[str, ast.Module]) -> None:
    trees = product_modules()
    assert {module: ast.dump(tree) for module, tree in contents.items() if tree.body} == {
        module: ast.dump(trees[module]) for module, tree in contents.items() if tree.body
    }


@pytest.mark.slow
def test_every_imported_module_is_included(contents: dict[str, ast.Module]) -> None:
    edges = {(module, other) for module, tree in contents.items() for other in imported(tree, product_modules())}
    assert len(edges) > 500
    absent = {edge for edge in edges if edge[1] not in contents}
    assert absent == GUARDED, "light/pyproject.toml excludes what modules of gpushare-check import"


@pytest.mark.slow
def test_every_included_module_is_imported(contents: dict[str, ast.Module]) -> None:
    commands = [f"webhook.cli.{name}" for name in COMMANDS if f"webhook.cli.{name}" in contents]
    superfluous = contents.keys() - reached(["webhook.__main__", *commands], contents)
    assert superfluous == set(), "no command of gpushare-check imports these: exclude them in light/pyproject.toml"


@pytest.mark.slow
def test_dependencies_are_what_modules_import(contents: dict[str, ast.Module]) -> None:
    declared = set(map(canonical, LIGHT["project"]["dependencies"]))
    assert set(libraries(contents)) - BELOW_PYDANTIC == declared
