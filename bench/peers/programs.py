"""Command lines of other projects, built unchanged from their modules into the cache of the cluster tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.gotools import go_program, recipe

PEERS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a module that `peers/<name>/go.mod` pins, and its package there."""

    name: str
    package: str

    @property
    def version(self) -> str:
        """The version of its module, as go.mod names it."""
        module = re.escape(self.package.partition("/cmd/")[0])
        (found,) = re.findall(rf"{module} (v\S+)", (PEERS / self.name / "go.mod").read_text())
        return str(found)

    @property
    def is_built(self) -> bool:
        """Whether it needs no build, which takes minutes."""
        return recipe(f"peers/{self.name}", self.package).folder.is_dir()

    def find(self) -> Path:
        """The program, built where it is missing. Raises ToolsMissingError."""
        return go_program(f"peers/{self.name}", self.package)


PROGRAMS = (
    Program("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
    Program("kyverno", "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno"),
)
