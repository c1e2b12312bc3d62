"""The recorded reviews: what a real API server sent, and what is to be said of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "reviews"

HOOKS = ("mutate", "mutate-without-hostpath", "validate")

_SILENT: dict[str, Any] = {"decision": "allowed", "codes": [], "patch": []}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One review at one hook. `body` is as it was sent; `codes` and `patch` are what is expected."""

    name: str
    hook: str
    body: bytes
    decision: str
    codes: list[str]
    patch: list[dict[str, Any]]


def names() -> list[str]:
    """The names of the recorded reviews."""
    return sorted(file.stem for file in FOLDER.glob("*.json"))


@cache
def body(name: str) -> bytes:
    """The bytes of a recorded review."""
    return (FOLDER / f"{name}.json").read_bytes()


@cache
def expectations() -> dict[str, dict[str, Any]]:
    """What is expected of each review, by hook."""
    value = yaml.load((FOLDER / "expectations.yaml").read_text(), yaml.CSafeLoader)
    reviews: dict[str, dict[str, Any]] = value["reviews"]
    return reviews


def load_all() -> tuple[Recorded, ...]:
    """Every review at every hook."""
    return tuple(
        Recorded(name, hook, body(name), **expectations()[name].get(hook, _SILENT))
        for name in names()
        for hook in HOOKS
    )
