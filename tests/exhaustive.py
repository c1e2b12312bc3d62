"""A pytest plugin that leaves exhaustive tests out: `--exhaustive none`.

A test is marked `exhaustive` if it tries what others try, on more cases. With `exhaustive(every=8)`, one case in eight
is an ordinary test.
"""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

_IS_EXHAUSTIVE = pytest.StashKey[bool]()
_IS_LEFT_OUT = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--exhaustive", choices=("all", "none"), default="all", help="the exhaustive tests to run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the exhaustive tests out."""
    runs_all = config.getoption("--exhaustive") == "all"
    cases: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[_IS_EXHAUSTIVE] = _is_marked(item, cases[test])
        cases[test] += 1
        is_kept = runs_all or not is_exhaustive(item)
        item.stash[_IS_LEFT_OUT] = not is_kept
        (kept if is_kept else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def is_exhaustive(item: pytest.Item) -> bool:
    """Whether a test is one of those that may be left out."""
    return item.stash.get(_IS_EXHAUSTIVE, False)


def is_left_out(item: pytest.Item) -> bool:
    """Whether a test is left out here. Other options may leave out more, which another run has."""
    return item.stash.get(_IS_LEFT_OUT, False)


def _is_marked(item: pytest.Item, case: int) -> bool:
    mark = item.get_closest_marker("exhaustive")
    return mark is not None and ("every" not in mark.kwargs or case % cast(int, mark.kwargs["every"]) > 0)
