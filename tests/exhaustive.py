"""A pytest plugin that leaves exhaustive tests out: `--exhaustive none`, or `--exhaustive K/N` for part K of N.

A test is marked `exhaustive` if it tries what others try, on more cases. With `exhaustive(every=8)`, one case in eight
is an ordinary test.
"""

from __future__ import annotations

from collections import Counter
from typing import cast
from zlib import crc32

import pytest

_IS_EXHAUSTIVE = pytest.StashKey[bool]()
_IS_LEFT_OUT = pytest.StashKey[bool]()
_ALL, _NONE = (0, 1), (1, 1)
"""Parts: each test is in part 0 of 1, and none is in part 1 of 1."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--exhaustive", type=_part, default=_ALL, help="the exhaustive tests to run: all, none, K/N")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the exhaustive tests of other parts."""
    number, parts = cast(tuple[int, int], config.getoption("--exhaustive"))
    cases: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        item.stash[_IS_EXHAUSTIVE] = _is_marked(item, cases[test])
        cases[test] += 1
        is_kept = not is_exhaustive(item) or crc32(item.nodeid.encode()) % parts == number
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


def _part(written: str) -> tuple[int, int]:
    """The part that an option means; of a larger K, the remainder counts."""
    if written in ("all", "none"):
        return _ALL if written == "all" else _NONE
    number, parts = map(int, written.split("/"))
    return number % parts, parts
