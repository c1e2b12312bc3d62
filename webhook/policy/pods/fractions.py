"""The annotations of KAI's GPU fractioning operator, by which one container of a pod gets a part of a card's memory.

Sources: kai-scheduler/api utilities/resources/gpu_sharing_nvfractions.go, and kai-scheduler/kai-gpu-fractioning
fractioning-manager/fractiond/internal/annotations/annotations.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from webhook.policy.pods.quantity import NANO, parse_or_zero

PREFIX: Final = "nvidia.com/container."
_KEY = re.compile(
    r"nvidia\.com/container\.(.*)\.(gpu-memory\.request|gpu-memory\.limit|gpu-compute\.mode|gpus\.devices)", re.DOTALL
)
REQUEST: Final = "gpu-memory.request"
LIMIT: Final = "gpu-memory.limit"
MODE: Final = "gpu-compute.mode"
MEBIBYTE: Final = 2**20 * NANO
"""A mebibyte in billionths of a byte."""


def parts(annotations: Mapping[str, object]) -> list[tuple[str, str, str]]:
    """The key of each annotation of the operator, and the container and the setting in it: empty if it is unknown."""
    matches = ((key, _KEY.fullmatch(key)) for key in annotations if key.startswith(PREFIX))
    return [(key, match[1], match[2]) if match else (key, "", "") for key, match in matches]


def memory(value: object) -> int:
    """An amount of memory in billionths of a byte; 0 for text that is none, and below 1Mi, which no container gets."""
    amount = parse_or_zero(value) if isinstance(value, str) and value == value.strip() else 0
    return amount if amount >= MEBIBYTE else 0


def share(annotations: Mapping[str, object]) -> float:
    """The limit of the container with a share in MiB, by default its request; 0 without a valid one."""
    given = {setting: annotations[key] for key, _, setting in parts(annotations)}
    return memory(given.get(LIMIT, given.get(REQUEST))) / MEBIBYTE
