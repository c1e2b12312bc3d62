"""Single values of the plugin's configuration, checked as Go decodes them. A null leaves the default.

The plugin converts YAML to JSON (sigs.k8s.io/yaml), where scalars become text for fields that hold text, and decodes
that with encoding/json.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from webhook.policy.messages import printable
from webhook.policy.pods.reading import type_of
from webhook.policy.sharing.problems import Problem, Problems
from webhook.policy.verdict import Path

Check: TypeAlias = Callable[[Any, Path], Problems]
"""Yields the problems of a value at a path."""

PREFIX: Final = "nvidia.com/"
_LONGEST_NAME: Final = 63
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_HEX: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# google/uuid does not look at the characters around a UUID that stands in braces (`Parse`).
_UUID: Final = rf"(?ai:urn:uuid:)?{_HEX}|[0-9a-fA-F]{{32}}|[\x00-\x7f]{_HEX}[\x00-\x7f]"
_INDEX: Final = r"0*[0-9]{1,20}"
_DEVICE: Final = re.compile(
    rf"({_INDEX})(?::({_INDEX}))?|GPU-(?:{_UUID})|MIG-(?:{_UUID})|MIG-GPU-(?:{_UUID})/({_INDEX})/({_INDEX})", re.DOTALL
)
_SECOND: Final = 10**9
_UNITS: Final = {
    **{"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6},
    **{"s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND},
}
_PART: Final = r"(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_DURATION: Final = re.compile(rf"[-+]?(?:0|(?:{_PART})+)")
_PARTS: Final = re.compile(_PART)
_INFINITE_SINCE: Final = 19


def wrong_type(value: object, path: Path, wanted: str) -> Problem:
    """The problem that a value is not of the type that a field has."""
    match value:
        case dict() | list():
            remedy = f"write {wanted}, or remove it"
        case str():
            remedy = (
                f"write {wanted}, without quotes, or remove it"
                if wanted in _UNQUOTED
                else f"write {wanted}, or remove it"
            )
        case _:
            remedy = "put it in quotes, or remove it" if wanted == "text" else f"write {wanted}, or remove it"
    return Problem(path, f"must be {wanted}, not {type_of(value)}", remedy)


_UNQUOTED: Final = ("true or false", "a whole number")


def text(value: Any, path: Path) -> Problems:
    """Check text, which any scalar becomes."""
    if isinstance(value, (dict, list)):
        yield wrong_type(value, path, "text")


def as_text(value: Any) -> str | None:
    """The text that a scalar becomes; None for a null."""
    match value:
        case bool():
            return "true" if value else "false"
        case None | str():
            return value
    return str(value)


def boolean(value: Any, path: Path) -> Problems:
    """Check true or false."""
    if value is not None and not isinstance(value, bool):
        yield wrong_type(value, path, "true or false")


def is_integer(value: Any, low: int = -(2**63), high: int = 2**63) -> bool:
    """Whether a value is a number without a fraction, and within bounds, the upper of which is outside."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and low <= value < high and value == int(value)


def integer(value: Any, path: Path) -> Problems:
    """Check a whole number of 64 bits."""
    if value is not None and not is_integer(value):
        yield no_integer(value, path)


def no_integer(value: Any, path: Path) -> Problem:
    """The problem that a value is no whole number of 64 bits."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Problem(path, "must be a whole number of 64 bits", "write a whole number, or remove it")
    return wrong_type(value, path, "a whole number")


def integers(value: Any, path: Path) -> Problems:
    """Check a list of whole numbers."""
    yield from each(value, path, integer)


def each(value: Any, path: Path, check: Check) -> Problems:
    """Check a list, and its elements."""
    if value is not None and not isinstance(value, list):
        yield wrong_type(value, path, "a list")
        return
    for index, one in enumerate(value or ()):
        yield from check(one, (*path, index))


def strategies(value: Any, path: Path) -> Problems:
    """Check a text or a list of texts (flags.go, `deviceListStrategyFlag.UnmarshalJSON`)."""
    if isinstance(value, list):
        yield from each(value, path, only_text)
    elif value is not None and not isinstance(value, str):
        yield wrong_type(value, path, "text or a list of text")


def only_text(value: Any, path: Path) -> Problems:
    """Check text that no other scalar becomes: in decoders of the plugin's own, and below `flags`.

    There, the struct that holds the fields is embedded, which the conversion does not follow.
    """
    if value is not None and not isinstance(value, str):
        yield wrong_type(value, path, "text")


def duration(value: Any, path: Path) -> Problems:
    """Check a duration (duration.go, `Duration.UnmarshalJSON`). A number counts nanoseconds."""
    remedy = "write a duration such as 8760h, or remove it"
    if value == "infinite":
        yield Problem(path, "must be a duration, not infinite", remedy, until=_INFINITE_SINCE)
        return
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (value is None or is_number or (isinstance(value, str) and _is_duration(value))):
        yield Problem(path, "must be a duration such as 60s", remedy)


def _is_duration(value: str) -> bool:
    """Whether a text is a duration that 64 bits hold (Go, `time.ParseDuration`)."""
    if not _DURATION.fullmatch(value):
        return False
    most = 2**63 - (not value.startswith("-"))
    total = 0
    for whole, unit in _PARTS.findall(value):
        digits = whole.lstrip("0") or "0"
        total += int(digits[:20]) * _UNITS[unit]
        if total > most:
            return False
    return True


def full_name(name: str) -> str:
    """A resource's name with its domain."""
    return name if name.startswith(PREFIX) else PREFIX + name


def resource_name(value: Any, path: Path, remedy: str = "write nvidia.com/gpu") -> Problems:
    """Check a resource's name (resources.go, `NewResourceName`)."""
    if not isinstance(value, str):
        yield Problem(path, f"must be a resource's name, not {type_of(value)}", remedy)
        return
    name = full_name(value)
    if len(name.encode()) > _LONGEST_NAME:
        yield Problem(path, f"longer than {_LONGEST_NAME} characters, {PREFIX} included", remedy)
    elif not _SUBDOMAIN.fullmatch(name.removeprefix(PREFIX)):
        yield Problem(path, f'not a resource\'s name: "{printable(name, 80)}"', remedy)


def devices(value: Any, path: Path) -> Problems:
    """Check the devices to share, which the plugin then ignores (replicas.go, `ReplicatedDevices.UnmarshalJSON`)."""
    is_list = isinstance(value, list) and all(one is None or _is_device(one) for one in value)
    if not (value == "all" or is_integer(value, low=1) or is_list):
        yield Problem(path, 'must be "all", a number above 0, or a list of devices', "remove it")


def _is_device(value: Any) -> bool:
    if not isinstance(value, str):
        return is_integer(value, low=0, high=2**64)
    found = _DEVICE.fullmatch(value)
    return found is not None and all(int(index.lstrip("0") or "0") < 2**64 for index in found.groups("0"))
