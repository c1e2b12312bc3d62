"""Recorded verdicts of releases whose modules are not on every module proxy, such as a recent one.

`python -m tests.deviceplugin.record v0.20.0 FOLDER` builds the program from a copy of the plugin's repository, of which
it changes files, and records its verdicts.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.deviceplugin.configurations import configurations
from tests.deviceplugin.loaders import build, verdicts

_FOLDER: Final = Path(__file__).parent / "recorded"

RECORDED: Final = tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))
"""The versions with recorded verdicts."""


def digest(texts: Sequence[str]) -> str:
    """The digest of the configurations, to which verdicts belong."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def recorded(version: str, texts: Sequence[str]) -> list[bool]:
    """Whether a version refuses each configuration. Raises ValueError if these are not the recorded ones."""
    held = json.loads((_FOLDER / f"{version}.json").read_text())
    if held["configurations"] != digest(texts):
        raise ValueError(f"the configurations have changed: record the verdicts of {version} again")
    bits = bytes.fromhex(held["refused"])
    return [bool(bits[index // 8] >> index % 8 & 1) for index in range(len(texts))]


def record(version: str, plugin: Path) -> None:
    """Record the verdicts of a version. One bit stands for each configuration, from the lowest of the first byte."""
    texts = configurations()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "loader"
        build(plugin, version.rpartition(".")[0], program)
        answers = verdicts(program, texts)
    bits = bytearray((len(texts) + 7) // 8)
    for index, error in enumerate(answers):
        bits[index // 8] |= (error is not None) << index % 8
    held = {"configurations": digest(texts), "refused": bits.hex()}
    (_FOLDER / f"{version}.json").write_text(json.dumps(held, indent=1) + "\n")


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]))
