"""Imports between the modules of the product: no cycles, not even for type checkers alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.project.repository import modules

pytestmark = pytest.mark.slow

PRODUCT = "webhook"


def product_modules() -> dict[str, ast.Module]:
    """Every module of the product by its dotted name."""
    return {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree
        for path, tree in modules(PRODUCT).items()
    }


def imported(tree: ast.Module, known: Mapping[str, ast.Module]) -> Iterator[str]:
    """The modules that a module imports: at its top, in functions, and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and (package := node.module or "") in known:
            for alias in node.names:
                submodule = f"{package}.{alias.name}"
                yield submodule if submodule in known else package


def cycle(trees: Mapping[str, ast.Module]) -> list[str]:
    """One cycle of imports, from a module back to itself; empty if there is none."""
    graph = {module: set(imported(tree, trees)) for module, tree in trees.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_no_import_cycle() -> None:
    assert len(product_modules()) > 100
    assert cycle(product_modules()) == []


@pytest.mark.parametrize(
    "back",
    [
        "from webhook.a import A",
        "import webhook.a",
        "from webhook import a",
        "def late():\n    from webhook.a import A",
        "if TYPE_CHECKING:\n    from webhook.a import A",
    ],
)
def test_cycle_is_found(back: str) -> None:
    sources = {"webhook": "", "webhook.a": "from webhook.b import B", "webhook.b": back, "webhook.c": "import os"}
    trees = {module: ast.parse(source) for module, source in sources.items()}
    assert set(cycle(trees)) == {"webhook.a", "webhook.b"}
    trees["webhook.b"] = ast.parse("from webhook.c import C")
    assert cycle(trees) == []
