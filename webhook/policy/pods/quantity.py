"""Kubernetes quantities, read exactly as the API server reads them.

Every quantity is a whole number of billionths: Kubernetes keeps nothing smaller and rounds up to it
(k8s.io/apimachinery pkg/api/resource/quantity.go). So an int holds each value exactly.
"""

from __future__ import annotations

import re
from math import isfinite

from webhook.policy.memo import memo

NANO = 10**9
"""Billionths in one."""

_BINARY_CAP = (2**63 - 1) * NANO
_ABSURD_DIGITS = 100
"""Quantities with more decimal digits than this count as equal: no cluster has as much of anything.

Python takes 14 µs to write a number of 1,000 digits into a message: 0.25 s per MiB of containers with one each.
"""

_ABSURD: int = 10**_ABSURD_DIGITS

_SPACE = " \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The characters to trim: Go's spaces except those that JSON escapes. The API server trims before it unescapes."""

_FORM = re.compile(r"([+-]?+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)", re.ASCII)
"""Possessive: the parts share no characters, so backtracking would find no other match and only cost time."""

_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SLOW_BINARY = 50
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)


class QuantityError(ValueError):
    """The value is not a Kubernetes quantity."""


def parse(value: object) -> int:
    """The quantity in billionths, from a value of YAML or JSON; null is 0.

    Raises QuantityError if the API server would fail to decode the value.
    """
    if isinstance(value, str):
        return _parse_text(value)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError
    if isinstance(value, float):
        if not isfinite(value):
            raise QuantityError
        return _parse_text(repr(value))
    if abs(value) < _ABSURD:
        return _parse_text(str(value))
    return _ABSURD if value > 0 else -_ABSURD


def parse_or_zero(value: object) -> int:
    """The quantity in billionths; 0 for a value that is no quantity."""
    try:
        return parse(value)
    except QuantityError:
        return 0


@memo(1024)
def _parse_text(text: str) -> int:
    text = text.strip(_SPACE)
    match = _FORM.fullmatch(text)
    if not text or match is None:
        raise QuantityError
    sign, digits, fraction, suffix = match.groups("")
    whole = digits.lstrip("0")
    if not suffix and not whole and not fraction.strip("0"):
        return 0
    binary = _BINARY.get(suffix)
    exponent = 0 if binary is not None else _decimal_exponent(suffix)
    scale = exponent - len(fraction)
    if (scale < -9 or (binary or 0) >= _SLOW_BINARY) and not digits and not fraction:
        raise QuantityError  # the API server's slow path requires a digit; its fast path reads "." as 0
    billionths = _scaled(whole + fraction, scale, binary or 0)
    if binary is not None:
        billionths = min(billionths, _BINARY_CAP)
    return -billionths if sign == "-" else billionths


def _decimal_exponent(suffix: str) -> int:
    known = _DECIMAL.get(suffix)
    if known is not None:
        return known
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match.group(1)) > 4000:
        raise QuantityError
    exponent = int(match.group(1))
    if not -(2**63) <= exponent < 2**63:
        raise QuantityError
    return (exponent + 2**31) % 2**32 - 2**31  # the API server converts to int32 without a range check


def _scaled(digits: str, scale: int, binary: int) -> int:
    """Digits times 10^scale times 2^binary, in billionths, rounded up."""
    digits = digits.lstrip("0")
    if not digits:
        return 0
    shift = scale + 9
    if len(digits) + shift > _ABSURD_DIGITS:
        return _ABSURD
    if len(digits) + shift + 20 < 0:
        return 1
    if len(digits) > 4000:  # int() rejects longer text; digits below a billionth only round up
        below = "1" if digits[_ABSURD_DIGITS:].strip("0") else "0"
        digits, shift = digits[:_ABSURD_DIGITS] + below, shift + len(digits) - _ABSURD_DIGITS - 1
    number = int(digits) << binary
    power: int = 10 ** abs(shift)
    return number * power if shift >= 0 else -(-number // power)


def is_whole(billionths: int) -> bool:
    """Whether the quantity is a whole number, as extended resources must be."""
    return billionths % NANO == 0


def amount(billionths: int) -> str:
    """A quantity for a message: plain while short, else with an exponent."""
    whole, rest = divmod(abs(billionths), NANO)
    sign = "-" if billionths < 0 else ""
    if whole >= 10**7:
        digits = str(whole)
        return f"{sign}{digits[0]}.{digits[1]}e{len(digits) - 1}"
    fraction = f"{rest:09d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
