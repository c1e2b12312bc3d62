"""The `CUDA_MPS_*` limits of a client: the syntax of each, as environment variable and as annotation.

Values are parsed and formatted again, so that no text of an annotation reaches a patch unchecked.
Sources: NVIDIA's MPS documentation, appendix on environment variables, and docs/explanation/measurements.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from webhook.policy.pods.pod import CONNECTIONS, MEMORY, PARTITIONING, PRIORITY, THREADS

PREFIX = "gpushare-webhook/"
INJECTED = f"{PREFIX}injected"
"""The annotation that names the injections of a pod, so that a changed pod explains itself.

Only a guard reads it to decide, since any user can write it (`webhook/guard/spec.yaml`).
"""

_PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?", re.ASCII)
_DEVICE_LIMIT = re.compile(r"([0-9]{1,3})=([0-9]{1,9})([MG])B?", re.ASCII)
_DEVICES = 64
_MOST_CONNECTIONS = 32
_MEBIBYTES = {"M": 1, "G": 1024}


class MemoryLimit(NamedTuple):
    """A limit on one device's memory: `amount` of `unit` (M or G)."""

    device: int
    amount: int
    unit: str

    @property
    def mebibytes(self) -> int:
        """The limit in MiB."""
        return self.amount * _MEBIBYTES[self.unit]


def percentage(text: str) -> float:
    """An active thread percentage, above 0 and up to 100. Raises ValueError."""
    if not _PERCENTAGE.fullmatch(text) or not 0 < float(text) <= 100:
        raise ValueError("a percentage above 0 and up to 100")
    return float(text)


def memory(text: str) -> tuple[MemoryLimit, ...]:
    """Memory limits by device, such as `0=4G,1=512M`. Raises ValueError.

    With a value that CUDA cannot read, such as `4G` or ` 0=4G`, the process has no limit at all, not even the daemon's.
    `0=4194304K` does not limit a process to 4 GiB (both measured with driver 580.159.04).
    """
    limits = []
    for part in text.split(",", _DEVICES):
        match = _DEVICE_LIMIT.fullmatch(part)
        device, amount, unit = ("0", "0", "M") if match is None else match.groups()
        if int(amount) == 0 or int(device) >= _DEVICES:
            raise ValueError("limits such as 0=4G")
        limits.append(MemoryLimit(int(device), int(amount), unit))
    if len({limit.device for limit in limits}) < len(limits):
        raise ValueError("one limit per device")
    return tuple(limits)


def _switch(text: str, meaning: str) -> str:
    """A value that is 0 or 1. Raises ValueError."""
    if text not in ("0", "1"):
        raise ValueError(meaning)
    return text


_priority = partial(_switch, meaning="0 (normal) or 1 (below normal)")


def connections(text: str) -> int:
    """A number of hardware connections, 1 to 32. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or len(text) > 2 or not 1 <= int(text) <= _MOST_CONNECTIONS:
        raise ValueError("a number from 1 to 32")
    return int(text)


def _memory_text(text: str) -> str:
    """The limits of an annotation, where `4G` alone means device 0, and spaces around a limit are allowed."""
    parts = (part.strip(" ") for part in text.split(",", _DEVICES))
    limits = memory(",".join(part if "=" in part else f"0={part}" for part in parts))
    return ",".join(f"{limit.device}={limit.amount}{limit.unit}" for limit in limits)


VARIABLES: dict[str, Callable[[str], object]] = {
    THREADS: percentage,
    MEMORY: memory,
    PRIORITY: _priority,
    PARTITIONING: partial(_switch, meaning="0 or 1"),
    CONNECTIONS: connections,
}
"""The parser of each variable. It raises ValueError with a description of valid values."""


class Annotation(NamedTuple):
    """A `gpushare-webhook/` annotation: the variable that it sets, and the function that formats its value."""

    key: str
    variable: str
    write: Callable[[str], str]


ANNOTATIONS = (
    Annotation(
        PREFIX + "active-thread-percentage", THREADS, lambda text: f"{percentage(text):.6f}".rstrip("0").rstrip(".")
    ),
    Annotation(PREFIX + "pinned-device-memory-limit", MEMORY, _memory_text),
    Annotation(PREFIX + "client-priority", PRIORITY, _priority),
)
