"""The repository as it is committed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

SUBJECTS = ("nodes", "namespaces", "runtime classes", "device classes", "device plugin")
"""The sources of facts, which log lines and conditions are about."""


@cache
def tracked(pattern: str = "*") -> tuple[Path, ...]:
    """The committed files whose names match and that exist."""
    listed = subprocess.check_output(["git", "ls-files", "-z", pattern], cwd=ROOT, text=True, timeout=20)
    return tuple(file for file in (ROOT / name for name in listed.split("\0") if name) if file.is_file())


def dry_run(target: str) -> str:
    """The commands that make would run for a target, whatever options the make has that runs the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "EXHAUSTIVE")}
    command = ["make", "-n", target]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def is_logged(event: str, source: str) -> bool:
    """Whether an event, or a condition of readiness, stands in the source, also if its subject is filled in."""
    forms = re.escape(f'"{event}')
    for subject in SUBJECTS:
        forms = forms.replace(re.escape(subject), rf"(?:{re.escape(subject)}|\{{[a-z.]*subject\}})")
    return re.search(forms, source) is not None


def name(file: Path) -> str:
    """The path of a file within the repository."""
    return str(file.relative_to(ROOT))


@cache
def module(path: str) -> ast.Module:
    """The syntax tree of a Python module."""
    return ast.parse((ROOT / path).read_text())


@cache
def modules(folder: str) -> dict[str, ast.Module]:
    """The syntax trees of the Python modules in a folder, by path."""
    return {name(file): module(name(file)) for file in tracked(f"{folder}/*.py")}


@cache
def project() -> dict[str, Any]:
    """The content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def blocks(file: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", file.read_text(), re.MULTILINE | re.DOTALL)
