"""Sections of settings behave as frozen dataclasses, although they share their methods."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any, cast

import pytest

from webhook.policy.settings.elements import AnnotationRequest
from webhook.policy.settings.settings import Limits, Resource, Settings


def test_section_is_read_only() -> None:
    limits = Limits()
    with pytest.raises(FrozenInstanceError, match=r"Limits\.per_pod is read-only"):
        limits.per_pod = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del limits.per_pod
    assert limits == Limits()


@pytest.mark.parametrize(("given", "wrong"), [({}, "annotation"), ({"annotation": "a", "x": 1}, "x")])
def test_section_refuses_missing_and_unknown_fields(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(TypeError, match=f"AnnotationRequest: missing or unknown {wrong}"):
        AnnotationRequest(**cast(Any, given))


def test_sections_with_equal_values_are_equal() -> None:
    one, other = Resource("a", renamed=True), replace(Resource("a"), renamed=True)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Resource("a")


def test_section_shows_its_fields() -> None:
    assert repr(Resource("a")) == "Resource(name='a', kind='shared', renamed=False)"


def test_default_mappings_are_not_shared() -> None:
    assert Settings().severities is not Settings().severities
