"""Modules: each has a docstring and a specific name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from tests.project.repository import modules, name, tracked

DRAWERS = {"utils", "util", "helpers", "misc", "common", "manager"}
LONGEST = 300
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "XX" + "X")


def without(holds: Callable[[ast.Module], bool]) -> list[str]:
    """The modules that do not fulfil a condition."""
    return [module for module, tree in modules().items() if not holds(tree)]


def says_what_it_is(tree: ast.Module) -> bool:
    return (ast.get_docstring(tree) or "").partition("\n")[0].endswith((".", ":"))


def leaves_annotations_alone(tree: ast.Module) -> bool:
    rest = tree.body[1:]
    if all(isinstance(statement, ast.Assign) for statement in rest):
        return True  # there is nothing to annotate
    first = rest[0]
    return isinstance(first, ast.ImportFrom) and first.module == "__future__" and first.names[0].name == "annotations"


def test_every_module_has_docstring() -> None:
    assert len(modules()) > 80
    assert without(says_what_it_is) == []


def test_every_module_postpones_annotations() -> None:
    assert without(leaves_annotations_alone) == []


def test_no_module_has_catch_all_name() -> None:
    assert [name(file) for file in tracked("*.py") if file.stem in DRAWERS] == []


def test_product_modules_are_short() -> None:
    files = tracked("webhook/*.py")
    assert [name(file) for file in files if len(file.read_text().splitlines()) > LONGEST] == []


def test_no_unfinished_marker_is_left() -> None:
    texts: dict[Path, str] = {file: file.read_text() for file in tracked("*.py")}
    assert [name(file) for file, text in texts.items() if any(word in text for word in UNFINISHED)] == []
