"""The changes that `make mutate` makes."""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path

import pytest

from tests.mutate import FITTING
from tests.mutations import PRODUCT, changes, mutations
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow

MADE = {
    "a = b < c": {"a = b <= c"},
    "a = b is not c": {"a = b is c"},
    "a = b and c or d": {"a = b and c", "a = d", "a = b or d", "a = c or d"},
    "a = b if c else d": {"a = b if True else d", "a = b if False else d"},
    "a = [b for b in c if d]": {"a = [b for b in c]"},
    "a = b + 1": {"a = b - 1", "a = b + 2", "a = b + 0"},
    "a = True": {"a = False"},
    "if a:\n    b = c": {"if True:\n    b = c", "if False:\n    b = c"},
    "while a:\n    b = c": {"while False:\n    b = c"},
    "async def a():\n    await b()\n    c = d": {
        "async def a():\n    pass\n    c = d",
        "async def a():\n    await b()\n    return",
    },
    "def a(b: Text[1]) -> Text[2]:\n    return b": {"def a(b: Text[1]) -> Text[2]:\n    return None"},
    "if TYPE_CHECKING:\n    a = 1": set(),
}


@pytest.mark.parametrize("source", MADE)
def test_changes_of_source(source: str) -> None:
    made = set()
    for index in range(sum(1 for _ in changes(ast.parse(source)))):
        tree = ast.parse(source)
        change = next(islice(changes(tree), index, None))
        setattr(change.node, change.field, change.value)
        made.add(ast.unparse(tree))
    assert made == MADE[source]


def test_mutations_cover_all_packages() -> None:
    packages = {path.name for path in (ROOT / PRODUCT).iterdir() if (path / "__init__.py").exists()}
    assert {mutation.package for mutation in islice(mutations(ROOT, 1), 26)} == {"", *packages} == FITTING.keys()


def test_seed_determines_mutations(tmp_path: Path) -> None:
    for package in ("core", "edge"):
        (tmp_path / PRODUCT / package).mkdir(parents=True)
        (tmp_path / PRODUCT / package / "steps.py").write_text("STEPS = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n")

    def chosen(seed: int) -> list[str]:
        return [str(mutation) for mutation in islice(mutations(tmp_path, seed), 8)]

    assert chosen(1) == chosen(1) != chosen(2)


def test_mutation_is_shown_with_file_line_and_difference(tmp_path: Path) -> None:
    (tmp_path / PRODUCT / "core").mkdir(parents=True)
    (tmp_path / PRODUCT / "core" / "steps.py").write_text('"""Steps."""\n\nSTEPS = not False\n')
    (mutation,) = islice(mutations(tmp_path, 1), 1)
    assert str(mutation) == (
        'webhook/core/steps.py:3: another constant\n """Steps."""\n-STEPS = not False\n+STEPS = not True'
    )
