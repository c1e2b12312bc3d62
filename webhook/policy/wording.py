"""Messages that always fit: names quoted, shortened in the middle, free of control characters."""

from __future__ import annotations

from webhook.policy.quantity import NANO

MESSAGE_LIMIT = 112
"""A warning, code included, should fit the 120 characters that the API server's documentation asks for."""

_SHORTEST = 9
_HUGE = 10**30


def message(template: str, *names: object) -> str:
    """The template with each `{}` replaced by a quoted name. Long names give way until the message fits."""
    cleaned = [_clean(name) for name in names]
    room = MESSAGE_LIMIT - len(template)  # each `{}` makes room for its pair of quotes
    shares = _shares([len(name) for name in cleaned], room)
    return template.format(*(f'"{_shorten(name, share)}"' for name, share in zip(cleaned, shares, strict=True)))


def _clean(name: object) -> str:
    if isinstance(name, int) and abs(name) >= _HUGE:
        return "a huge number"  # Python writes no integer of more than 4300 digits
    return "".join(char if char.isprintable() else "?" for char in str(name)[:1000])


def _shares(lengths: list[int], room: int) -> list[int]:
    """How long each name may be: short ones stay whole, the long ones share what is left."""
    shares = list(lengths)
    while sum(shares) > room and max(shares) > _SHORTEST:
        shares[shares.index(max(shares))] -= 1
    return shares


def _shorten(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    tail = (limit - 1) // 2
    return f"{name[: limit - 1 - tail]}…{name[len(name) - tail :]}"


def amount(billionths: int) -> str:
    """A quantity for a message: plain while short, else with an exponent."""
    whole, rest = divmod(abs(billionths), NANO)
    sign = "-" if billionths < 0 else ""
    if whole >= 10**7:
        digits = str(whole)
        return f"{sign}{digits[0]}.{digits[1]}e{len(digits) - 1}"
    fraction = f"{rest:09d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
