"""Explanations as terminals of some widths show them. Run as a program, it writes them again."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from tests.cli.run import run

FOLDER = Path(__file__).parent / "explanations"
SHOWN = [(code, width) for code in ("GPS001", "GPS009", "GPS014", "runtimeClass") for width in (40, 80, 200)]
"""A check with settings in an example, a short one, one with facts, and an injection."""


def shown(code: str, width: int) -> str:
    """What `explain` prints on a terminal of this width."""
    with mock.patch.dict(os.environ, {"COLUMNS": str(width)}):
        return run("explain", code).out


def golden(code: str, width: int) -> Path:
    """The file with the expected text."""
    return FOLDER / f"{code}-{width}.txt"


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for code, width in SHOWN:
        golden(code, width).write_text(shown(code, width), encoding="utf-8")


if __name__ == "__main__":
    main()
