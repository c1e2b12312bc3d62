"""Programs that answer tests end with each file of tests, so that tests/record.py counts their processor time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chart.matching import MATCHER
from tests.chart.render import RENDERER


@pytest.fixture(scope="module", autouse=True)
def programs() -> Iterator[None]:
    """The programs, which start with the first request."""
    yield
    RENDERER.end()
    MATCHER.end()
