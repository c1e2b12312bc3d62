"""Proven operations have the effect that `jsonpatch` gives them."""

from __future__ import annotations

from copy import deepcopy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patch.test_proof import DOCUMENT, SOUND, Json
from webhook.patch import apply


@pytest.mark.parametrize("made", SOUND.values(), ids=SOUND)
def test_sound_operations(made: list[Json]) -> None:
    assert applied(made) == jsonpatch.apply_patch(DOCUMENT, made)


@given(st.permutations([one for made in SOUND.values() for one in made]))
def test_any_order_of_sound_operations(made: list[Json]) -> None:
    assert applied(made) == jsonpatch.apply_patch(DOCUMENT, made)


def applied(made: list[Json]) -> Json:
    """The document with operations."""
    document = deepcopy(DOCUMENT)
    apply(document, deepcopy(made))
    return document
