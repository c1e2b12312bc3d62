"""Sections of settings behave as frozen dataclasses, although they share their methods."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any
from unittest.mock import ANY

import pytest

from webhook.policy.settings.elements import AnnotationRequest
from webhook.policy.settings.settings import Limits, PlacementSettings, Settings, Suppress, Toleration


def test_section_is_read_only() -> None:
    limits = Limits()
    with pytest.raises(FrozenInstanceError, match=r"Limits\.per_pod is read-only"):
        limits.per_pod = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del limits.per_pod
    assert limits == Limits()


@pytest.mark.parametrize(
    ("values", "named", "wrong"),
    [
        ((), {}, "annotation"),
        (("a",), {"x": 1}, "x"),
        (("a", None, 1), {}, "a value"),
        (("a",), {"annotation": "b"}, "a value"),
    ],
)
def test_section_refuses_wrong_fields(values: tuple[Any, ...], named: dict[str, Any], wrong: str) -> None:
    with pytest.raises(TypeError, match=f"AnnotationRequest: missing, unknown or repeated: {wrong}$"):
        AnnotationRequest(*values, **named)


def test_sections_with_equal_values_are_equal() -> None:
    one, other = Toleration("a", effect=None), replace(Toleration("a"), effect=None)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Toleration("a")
    assert Limits() != Toleration("a")
    assert Limits() == ANY


def test_copies_of_a_section_are_equal() -> None:
    placement = PlacementSettings(groups_are_complete=True)
    assert copy.deepcopy(placement) == pickle.loads(pickle.dumps(placement)) == placement  # noqa: S301 - its own text


def test_section_shows_its_fields() -> None:
    assert repr(Suppress(comments=True)) == "Suppress(comments=True)"


def test_default_mappings_are_not_shared() -> None:
    assert Settings().severities is not Settings().severities
