"""The commands of the release guide: read from its page, and run block by block as a person does who follows it."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.project import page_shell
from tests.project.pages import Block, shell_blocks
from tests.project.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "release.md"
TARGET = "make rehearse-release"
"""The value of the comment `run` before a block that the rehearsal runs."""


class FailedError(Exception):
    """A command of the guide, or a check of its result, failed; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Step:
    """A block of the guide with the heading above it."""

    heading: str
    block: Block


def steps() -> list[Step]:
    """The blocks that the rehearsal runs, in the order of the page."""
    lines = PAGE.read_text().splitlines()
    found = [block for block in shell_blocks(PAGE) if block.notes.get("run") == TARGET]
    return [Step(_heading(lines[: block.line]), block) for block in found]


def _heading(lines: Sequence[str]) -> str:
    return next(line.removeprefix("## ") for line in reversed(lines) if line.startswith("## "))


@dataclass(frozen=True, slots=True)
class Reader:
    """A person who follows the guide: a clone to work in, an environment, and a folder for the output of commands."""

    clone: Path
    environment: Mapping[str, str]
    records: Path

    def follow(self, step: Step, shell: Sequence[str] = ("bash",)) -> float:
        """Run a step by a command that ends in `bash`, and return how many seconds it took. Raises `FailedError`."""
        began = time.monotonic()
        record = self.records / str(step.block.line)
        try:
            (ran,) = page_shell.run([step.block], self.clone, record, shell, self.environment)
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            raise FailedError(f"{step.block.where}: {problem}") from problem
        if ran.failed:
            raise FailedError(f"{step.block.where}: {'; '.join(ran.failed)}\n{ran.out[-2000:]}{ran.err[-4000:]}")
        return time.monotonic() - began

    def read(self, name: str) -> str:
        """A file that the guide's commands wrote to the folder `build` of the clone."""
        return (self.clone / "build" / name).read_text().strip()
