"""Quantities against what the API server's own library said of each, and against an exact reading of the grammar."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cases import every_case
from webhook.policy.pods.quantity import NANO, QuantityError, is_whole, parse

TABLE: list[dict[str, Any]] = json.loads((Path(__file__).parent / "quantities.json").read_text())

SATURATED = 10**100
"""Above it the product tells amounts no longer apart."""


def billionths(recorded: dict[str, Any]) -> int:
    """The recorded value in billionths, saturated."""
    unscaled, exponent = int(recorded["unscaled"]), 9 - int(recorded["scale"])
    if len(str(abs(unscaled))) + exponent > 100 and unscaled:
        return SATURATED if unscaled > 0 else -SATURATED
    exact = unscaled * Fraction(10) ** exponent
    assert exact.denominator == 1
    return exact.numerator


def read(value: object) -> int | None:
    """The product's reading, None where it refuses."""
    try:
        return parse(value)
    except QuantityError:
        return None


@every_case(TABLE, lambda recorded: recorded["json"][:40])
def test_quantity_equals_api_server(recorded: dict[str, Any]) -> None:
    expected = None if "error" in recorded else billionths(recorded)
    assert read(json.loads(recorded["json"])) == expected


def test_api_server_table_matches_cases() -> None:
    cases = (Path(__file__).parent / "record" / "cases.txt").read_text().removesuffix("\n").split("\n")
    assert [recorded["json"] for recorded in TABLE] == cases
    assert len(cases) >= 300


SUFFIXES = {
    **dict(zip("numkMGTPE", (Fraction(10) ** power for power in (-9, -6, -3, 3, 6, 9, 12, 15, 18)), strict=True)),
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}
DECIMAL = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?", re.ASCII)


def exact(text: str) -> int | None:
    """The documented grammar in fractions: a signed number and a suffix, rounded up to billionths away from zero."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    sign, number, suffix = match.groups(default="")
    whole, _, fraction = number.partition(".")
    value = Fraction(int(whole or "0")) + Fraction(int(fraction or "0"), 10 ** len(fraction))
    if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
        value *= Fraction(10) ** int(suffix[1:])
    elif suffix:
        value *= SUFFIXES[suffix]
    amount = ceil(value * NANO)
    if suffix.endswith("i"):
        amount = min(amount, (2**63 - 1) * NANO)
    amount = min(amount, SATURATED)
    return -amount if sign == "-" else amount


digits = st.text("0123456789", max_size=25)


@st.composite
def quantities(draw: st.DrawFn) -> str:
    """Quantities by the grammar, now and then with a digit too few."""
    number = draw(digits) + draw(st.sampled_from(["", "."])) + draw(digits)
    exponent = f"{draw(st.sampled_from('eE'))}{draw(st.integers(-60, 60))}"
    return draw(st.sampled_from(["", "", "+", "-"])) + number + draw(st.sampled_from(["", exponent, *SUFFIXES]))


@given(quantities())
@example("0.1Ki")
@example("1E")
@example("1Ee3")
def test_quantity_grammar_is_exact(text: str) -> None:
    if any(char.isdigit() for char in text.partition("e")[0].partition("E")[0]):
        assert read(text) == exact(text)


@given(st.text("+-.0159eEinumkKMGTP x", max_size=8))
def test_quantity_accepts_little_beyond_grammar(text: str) -> None:
    expected, seen = exact(text), read(text)
    if expected is not None:
        assert seen == expected
    elif seen is not None:
        # Surrounding spaces, and numbers without any digit: both are the API server's (see the recorded table).
        assert seen == exact(text.strip()) or (seen == 0 and not any(char.isdigit() for char in text[:1]))


@given(st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.integers()) | st.text())
def test_any_value_is_parsed_or_rejected(value: object) -> None:
    seen = read(value)
    if isinstance(value, int) and not isinstance(value, bool):
        assert seen == value * NANO
    if isinstance(value, bool | list):
        assert seen is None
    if value is None:
        assert seen == 0


@given(st.integers(-(10**40), 10**40))
def test_is_whole(amount: int) -> None:
    assert is_whole(amount) is (Fraction(amount, NANO).denominator == 1)


ZEROS = "0" * 5000
OTHERS: list[Any] = [float("inf"), float("-inf"), float("nan"), True, False, [], {}, [1], b"1"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Absurd amounts differ by their sign only.
        *((value, SATURATED) for value in (f"1{ZEROS}", "1e2000", 10**5000)),
        *((value, -SATURATED) for value in (f"-1{ZEROS}", "-1e2000", -(10**5000))),
        # Fractions of a billionth are rounded up.
        *((value, 1) for value in (f"0.{ZEROS}1", "1e-4000", f"0.{ZEROS[:9]}{'1' * 5000}")),
        (f"1.{ZEROS}1", NANO + 1),
        (f"1.{ZEROS}", NANO),
        (f"0.{'9' * 5000}Ki", 1024 * NANO),
        # An exponent has at most 4000 digits; others are refused without computing.
        (f"1e{'1'.zfill(4000)}", 10 * NANO),
        (f"1e{'1'.zfill(4001)}", None),
        (f"1e{'9' * 100_000}", None),
        (f"1e-{'9' * 5000}", None),
        *((value, None) for value in OTHERS),
    ],
    ids=lambda value: str(value)[:12] if isinstance(value, (str, float)) else type(value).__name__,
)
def test_absurd_values(value: object, expected: int | None) -> None:
    assert read(value) == expected
