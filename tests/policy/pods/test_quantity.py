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


@pytest.mark.parametrize(
    ("value", "sign"),
    [("1" + "0" * 5000, 1), ("-" + "9" * 5000, -1), ("1e2000", 1), ("-1e2000", -1), (10**5000, 1), (-(10**5000), -1)],
    ids=["digits", "negative digits", "exponent", "negative exponent", "number", "negative number"],
)
def test_absurd_amounts_differ_by_sign_only(value: object, sign: int) -> None:
    assert parse(value) == sign * SATURATED


@pytest.mark.parametrize("text", ["0." + "0" * 5000 + "1", "1e-4000", "0." + "0" * 9 + "1" * 5000], ids=len)
def test_smaller_than_billionth_rounds_up(text: str) -> None:
    assert parse(text) == 1


def test_long_fraction_rounds_up() -> None:
    assert parse("1." + "0" * 5000 + "1") == NANO + 1
    assert parse("1." + "0" * 5000) == NANO
    assert parse("0." + "9" * 5000 + "Ki") == 1024 * NANO


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), True, False, [], {}, [1], b"1"], ids=str)
def test_other_type_is_rejected(value: object) -> None:
    assert read(value) is None


def test_absurd_exponent_is_rejected_without_computing() -> None:
    assert read("1e" + "9" * 100_000) is None
    assert read("1e-" + "9" * 5000) is None


def test_exponent_has_at_most_4000_digits() -> None:
    assert parse("1e" + "1".zfill(4000)) == parse("10")
    with pytest.raises(QuantityError):
        parse("1e" + "1".zfill(4001))
