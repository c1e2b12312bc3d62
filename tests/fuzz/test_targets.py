"""Each target with its corpus, and with inputs that hypothesis makes of it; `make fuzz` searches for longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_corpus(name: str) -> None:
    inputs = TARGETS[name].inputs()
    assert len(inputs) > 10
    for data in inputs:
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_mutated_inputs(name: str, data: st.DataObject) -> None:
    TARGETS[name](data.draw(mutated(TARGETS[name])))
