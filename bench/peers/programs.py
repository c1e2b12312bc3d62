"""Command lines of other projects, built unchanged from their modules into the cache of the cluster tests.

Run as a module with a name it builds one: `python -m bench.peers.programs kyverno`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of
from tests.cluster.harness.gobuild import FLAGS, build

PEERS = Path(__file__).parent
PATIENCE = 900
"""Seconds that a build may take. What it has compiled is kept, so that a second attempt begins where it ended."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a module that `peers/<name>/go.mod` pins, and its package there."""

    name: str
    package: str

    @property
    def _source(self) -> Path:
        return PEERS / self.name

    @property
    def version(self) -> str:
        """The version of its module, as go.mod names it."""
        module = re.escape(self.package.partition("/cmd/")[0])
        (found,) = re.findall(rf"{module} (v\S+)", (self._source / "go.mod").read_text())
        return str(found)

    @property
    def recipe(self) -> Recipe:
        """Its folder of the cache."""
        source, package = self._source, self.package
        return Recipe(
            f"bench-{self.name}",
            key_of(source, *FLAGS),
            lambda folder: build(source, folder / self.name, package=package),
        )

    def find(self, patience: float = PATIENCE) -> Path:
        """The program, built where it is missing. Raises ToolsMissingError, also when that takes too long."""
        if not self.recipe.folder.is_dir():
            _bounded([sys.executable, "-m", "bench.peers.programs", self.name], self.name, patience)
        return self.recipe.folder / self.name


PROGRAMS = (
    Program("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
    Program("gator", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator"),
    Program("kyverno", "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno"),
)


def _bounded(command: list[str], name: str, patience: float) -> None:
    """Run a build in a session of its own, so that all of its compilers end with it. It prints why it fails."""
    building = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=PEERS.parents[1], start_new_session=True
    )
    try:
        said, _ = building.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(building.pid, signal.SIGKILL)
        building.communicate()
        raise ToolsMissingError(
            f"building {name} takes more than {patience:g} s; a second run continues where this one ended"
        ) from None
    if building.returncode:
        raise ToolsMissingError(said.strip() or f"building {name} ends with {building.returncode}")


def main() -> int:
    """Build the program that is named; what is printed says where it is, or why it is not there."""
    (program,) = [one for one in PROGRAMS if one.name == sys.argv[1]]
    try:
        print(program.recipe.make())
    except ToolsMissingError as problem:
        print(problem)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
