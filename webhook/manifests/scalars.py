"""The meaning of a YAML scalar to kubectl.

The rules are those of go.yaml.in/yaml/v2 `resolve.go`, then of `convertToJSONableObject` in sigs.k8s.io/yaml and of
Go's JSON encoder, which a manifest passes on its way to the API server. They are YAML 1.1 without dates and
sexagesimals. Every function raises ValueError, with a message for the user, for a value that kubectl rejects.
"""

from __future__ import annotations

import binascii
import math
import re
import struct
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

# Spellings with a special meaning.
WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
NUMERIC = frozenset("+-.0123456789")
TAG = "tag:yaml.org,2002:"
MERGE_TAG = TAG + "merge"

_SHORT_DECIMAL = re.compile(r"-?[1-9][0-9]{0,17}|0")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_SIGNED_BINARY = re.compile(r"0b([-+][01]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Possessive: otherwise the engine would keep every underscore of a long text for backtracking.
_DOT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*+(?:[eE][-+]?[0-9]+(?:_[0-9]+)*+)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?"
)
# More digits exceed 64 bits in every base but 2, and Python refuses to convert thousands of decimal digits.
_LONGEST_DECIMAL = 20


def plain(text: str) -> Scalar:
    """Return the meaning of a scalar without quotes and tag."""
    word = WORDS.get(text, text)
    if word is not text or text[0] not in NUMERIC:
        return word
    if _SHORT_DECIMAL.fullmatch(text):
        return int(text)
    if text[0] == ".":
        value = float(text) if _DOT_FLOAT.fullmatch(text) else math.inf
        return text if math.isinf(value) else value
    digits = text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return integer
    # To go-yaml a float that exceeds the range of a double is text, like everything that is not a number.
    value = float(digits) if _FLOAT.fullmatch(digits) else math.inf
    return text if math.isinf(value) else value


def _integer(digits: str) -> int | None:
    """Return the integer that Go's ParseInt or ParseUint reads: 64 bits with or without a sign."""
    found = _INTEGER.fullmatch(digits)
    if found is None:
        signed = _SIGNED_BINARY.fullmatch(digits)
        value = int(signed[1], 2) if signed else None
        return value if value is not None and is_int64(value) else None
    sign, text = found.groups()
    is_long = text[0] != "0" and len(text) > _LONGEST_DECIMAL
    value = 2**64 if is_long else int(text, 8 if text[0] == "0" and text.isdecimal() else 0)
    value = -value if sign == "-" else value
    return value if is_int64(value) or (not sign and value < 2**64) else None


def is_int64(value: int) -> bool:
    """Return whether an integer fits 64 bits with sign. Kubernetes turns larger JSON numbers into floats."""
    return -(2**63) <= value < 2**63


def meaning(text: str, tag: str | None, *, is_plain: bool) -> Scalar:
    """Return the meaning of a scalar, with a tag perhaps: the text itself for a tag that kubectl does not know."""
    if tag is None:
        return plain(text) if is_plain else text
    name = tag.removeprefix(TAG)
    if name == tag or name not in _TYPES:
        return text
    if name == "binary":
        try:
            data = binascii.a2b_base64(text.replace("\r", "").replace("\n", ""), strict_mode=True)
        except ValueError:
            raise ValueError("this is not base64, as its tag !!binary says") from None
        return data.decode("utf-8", "replace")
    if name == "timestamp":
        if _TIMESTAMP.fullmatch(text):
            return text
        raise ValueError(f"this is not a timestamp, as its tag !!{name} says")
    value = plain(text)
    if name == "float" and type(value) is int and is_int64(value):
        return float(value)
    if type(value) is not _TYPES[name]:
        raise ValueError(f"this is not what its tag !!{name} says")
    return value


_TYPES = {"binary": str, "timestamp": str, "null": type(None), "bool": bool, "int": int, "float": float}
"""The types of values by tag. The tag `str` changes nothing."""


def json_number(value: int | float) -> int | float:
    """Return a number as JSON carries it: an int for a whole number of 64 bits, a float for all others."""
    if isinstance(value, int):
        return value if is_int64(value) else float(value)
    if not math.isfinite(value):
        raise ValueError("infinity and not-a-number have no JSON form; put them in quotes to mean text")
    if not value.is_integer():
        return value
    # Go prints the shortest digits that identify the double, padded with zeros, not its exact integer value.
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    integer = int(whole + fraction) * 10 ** (int(exponent or 0) - len(fraction))
    return integer if is_int64(integer) else value


def key(value: Scalar) -> str:
    """Return the JSON key for a YAML key that is not text."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if is_int64(value):
            return str(value)
        case float():
            return _single_precision(value)
    what = "null" if value is None else "a number of more than 64 bits"
    raise ValueError(f"{what} cannot be a mapping key; put it in quotes to mean text")


def _single_precision(value: float) -> str:
    """Return a float as sigs.k8s.io/yaml prints float keys: Go's `FormatFloat(value, 'g', -1, 32)`."""
    if math.isnan(value):
        return ".nan"
    single = _as_single(value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    digits = next(n for n in range(6, 10) if _as_single(float(f"{single:.{n}g}")) == single)
    text = f"{single:.{digits}g}"
    # C switches to an exponent after the last digit, Go at the seventh digit before the point.
    return f"{single:.{digits - 1}e}" if abs(single) >= 1e6 and "e" not in text else text


def _as_single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
