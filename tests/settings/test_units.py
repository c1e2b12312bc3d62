"""Durations and sizes against independent arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from webhook.policy.settings.formats import Duration, Size

SECONDS = {"h": Fraction(3600), "m": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 1000)}
BYTES = {"": 1, "k": 1000, "M": 1000**2, "G": 1000**3, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}

parts = st.lists(st.tuples(st.integers(0, 2000), st.sampled_from(sorted(SECONDS))), min_size=1, max_size=4)


@given(parts)
def test_duration_sums_its_parts(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{count}{unit}" for count, unit in parts)
    exact = sum(count * SECONDS[unit] for count, unit in parts)
    assert Duration(may_be_zero=True).read(text) == float(exact)


@given(st.integers(0, 8760 * 3_600_000))
def test_duration_round_trip(milliseconds: int) -> None:
    form = Duration(may_be_zero=True)
    assert form.read(form.write(milliseconds / 1000)) == milliseconds / 1000


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0s"), (0.5, "500ms"), (110.0, "110s"), (900.0, "15m"), (5400.0, "90m"), (7200.0, "2h")]
)
def test_duration_written_in_largest_unit(seconds: float, text: str) -> None:
    assert Duration().write(seconds) == text


@given(st.integers(1, 10**12 - 1), st.sampled_from(sorted(BYTES)))
def test_size_is_number_times_unit(number: int, unit: str) -> None:
    assert Size().read(f"{number}{unit}") == number * BYTES[unit]


@given(st.integers(1, 10**12 - 1))
def test_size_round_trip(size: int) -> None:
    assert Size().read(Size().write(size)) == size
    assert Size().read(size) == size


@given(st.text() | st.none() | st.booleans() | st.floats() | st.just([]))
def test_other_values_are_no_duration_or_size(value: object) -> None:
    assume(not (isinstance(value, str) and value[:1].isdecimal()))
    for form in (Duration(), Size()):
        with pytest.raises(ValueError, match=f"^{re.escape(form.description)}$"):
            form.read(value)


@pytest.mark.parametrize(
    "text", ["5", "5 s", " 5s", "5s\n", "1.5s", "-5s", "5S", "s", "1d", "000000000000s", "\u0665s", "8761h"]
)
def test_malformed_durations_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="a duration"):
        Duration(may_be_zero=True).read(text)


@pytest.mark.parametrize("text", ["7MB", "7 Mi", "7mi", "0", "0Ki", "-1", "1.5Mi", "Mi", "1e6", "7Mi\n"])
def test_malformed_sizes_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="a size"):
        Size().read(text)
