"""The shell blocks of the pages, and how each of them is run.

A block that calls kubectl or helm is run by `tests/cluster/test_pages.py`, any other by `tests/project/test_pages.py`.
A comment of the form `<!-- KEY: VALUE -->` on the line before a block says otherwise; CONTRIBUTING.md lists the keys.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.project.repository import ROOT, name, tracked

CLUSTER = "cluster"
"""The value of `run` for a block that needs the cluster without calling kubectl or helm."""

SHELL = ("sh", "console", "shell", "bash")

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<content>.*?)^(?P=indent)```$", re.M | re.S)
_NOTES = re.compile(r"(?:^ *<!-- [^\n]*? -->\n)+\Z", re.M)
_OUTPUT = re.compile(r"\s*^ *```text\n(.*?)^ *```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """A shell block of a page, what the page shows as its output, and the comments before it."""

    page: str
    line: int
    script: str
    output: str | None
    notes: dict[str, str]

    @property
    def where(self) -> str:
        """The page and line."""
        return f"{self.page}:{self.line}"

    @property
    def exits(self) -> list[int]:
        """The exit statuses of the commands that fail, in order."""
        return [int(status) for status in self.notes.get("exits", "").split()]

    @property
    def runs_in_cluster(self) -> bool:
        """Whether `tests/cluster/test_pages.py` runs it."""
        return self.notes.get("run") == CLUSTER or (self._runs_with_page and self._calls_cluster)

    @property
    def runs_in_clone(self) -> bool:
        """Whether `tests/project/test_pages.py` runs it."""
        return self._runs_with_page and not self._calls_cluster

    @property
    def _runs_with_page(self) -> bool:
        return self.notes.keys().isdisjoint(("run", "not run"))

    @property
    def _calls_cluster(self) -> bool:
        return re.search(r"^\s*(?:kubectl|helm) |\| (?:kubectl|helm) ", self.script, re.MULTILINE) is not None

    def commands(self) -> list[list[str]]:
        """The words of each command, without assignments; of a pipeline, those of its first."""
        joined = re.sub(r"(?<!\S)#.*$", "", self.script.replace("\\\n", " "), flags=re.MULTILINE)
        lines = [re.sub(r"^\s*(?:[A-Z_]+=(?:\$\(.*\)|\S*)(?:\s+|$))*", "", line) for line in joined.splitlines()]
        return [shlex.split(line) for line in lines if line.strip()]


def pages() -> list[Path]:
    """The committed pages that people read."""
    return [file for file in tracked("*.md") if not file.is_relative_to(ROOT / "tests")]


def shell_blocks(page: Path) -> list[Block]:
    """The shell blocks of a page, in order."""
    text = page.read_text()
    return [_block(page, text, fence) for fence in _FENCE.finditer(text) if fence["language"] in SHELL]


def _block(page: Path, text: str, fence: re.Match[str]) -> Block:
    script, output = dedent(fence["content"]), None
    if fence["language"] == "console":
        script, output = _transcript(script)
    elif shown := _OUTPUT.match(text, fence.end()):
        output = dedent(shown[1])
    before = text[: fence.start()]
    found = _NOTES.search(before)
    lines = found[0].splitlines() if found else []
    notes = dict(line.strip().removeprefix("<!-- ").removesuffix(" -->").split(": ", 1) for line in lines)
    return Block(name(page), before.count("\n") + 1, script, output, notes)


def _transcript(content: str) -> tuple[str, str]:
    """The commands, which follow a prompt, and the output of a transcript."""
    lines = content.splitlines(keepends=True)
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "".join(commands), "".join(line for line in lines if not line.startswith("$ "))


def page_block(page: str, word: str) -> Block:
    """The only shell block of a page that has a word in it.

    Call it with literals, in the test that a block names: `tests/project/test_pages.py` looks for the call.
    """
    (block,) = [block for block in shell_blocks(ROOT / page) if word in block.script]
    return block
