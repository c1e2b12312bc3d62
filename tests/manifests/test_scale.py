"""The CPU time of reading is linear in the size of the input, whatever its shape."""

from __future__ import annotations

import pytest

from tests.hostile_files import FILES, content
from tests.linear import Work, assert_linear
from tests.manifests.reading import read
from webhook.manifests import Manifest

pytestmark = pytest.mark.slow

_SMALLEST, _LARGEST = 10_000, 600_000


@pytest.mark.exhaustive(every=8)
@pytest.mark.parametrize("name", FILES)
def test_reading_time_is_linear(name: str) -> None:
    def prepared(size: int) -> Work:
        data = content(name, size)
        return lambda: look_up(data)

    assert_linear(prepared, _SMALLEST, _LARGEST)


def look_up(data: bytes) -> None:
    """Read an input, and look up positions in each of its objects."""
    for one in read("file.yaml", data):
        if isinstance(one, Manifest):
            assert one.line
            assert one.locate(("a",)).column


def test_quadratic_time_is_detected() -> None:
    with pytest.raises(AssertionError):
        assert_linear(lambda size: lambda: [None for _ in range(size) for _ in range(size)], 100, 10_000)
