"""Parameters of which a few run with every commit, and the others where all tests run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence, Set


T = TypeVar("T")


def covering(candidates: Sequence[T], shows: Callable[[T], Set[Any]]) -> list[T]:
    """A few candidates that together show everything: first the one that shows most, then the one that adds most."""
    taken, left = [], set[Any]().union(*map(shows, candidates))
    while left:
        best = max(candidates, key=lambda one: len(shows(one) & left))
        taken.append(best)
        left -= shows(best)
    return taken


def parameters(candidates: Sequence[T], usual: Collection[T], name: Callable[[T], str]) -> list[Any]:
    """A parameter for each candidate: the usual ones run with every commit, the others are exhaustive."""
    return [pytest.param(one, id=name(one), marks=() if one in usual else pytest.mark.exhaustive) for one in candidates]
