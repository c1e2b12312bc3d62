"""Changes the product at random, to find what may break without a failing test: `make mutate COUNT=100 SEED=1`.

It works in a copy of the repository. The quick tests of every commit in the folders that fit the package run first; a
mutation that survives them meets the other quick tests, and then the slow ones of the folders that fit. If it survives
these, too, a test is missing, or the mutation changes nothing that matters.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from compileall import compile_dir
from contextlib import suppress
from itertools import islice
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory

import pytest

from tests.mutations import PRODUCT, mutations

ROOT = Path(__file__).parents[1]

FITTING: dict[str, tuple[str, ...]] = {
    "": ("server", "cli"),
    "admission": ("admission", "fixtures"),
    "cli": ("cli",),
    "cluster": ("facts", "pki"),
    "dryrun": ("cli",),
    "guard": ("cli",),
    "diagnose": ("diagnose", "cli"),
    "manifests": ("manifests",),
    "patch": ("patch", "fixtures"),
    "pki": ("pki",),
    "policy": ("policy", "fixtures"),
    "report": ("report",),
    "runtime": ("runtime", "pki"),
    "server": ("server",),
    "settings": ("settings", "server"),
}
"""The folders of tests that fit a package; the first are those of the modules that are in none."""

FOLDERS = sorted({folder for folders in FITTING.values() for folder in folders})
"""The folders whose tests run the product, without a build of anything before."""

MEMORY = 8 * 2**30
"""Bytes that a process of tests may hold: a mutated loop may never end. Those of `contract` hold more: 240 servers."""

PATIENCE = 60.0
"""Seconds that quick tests may take at least. They may take five times as long as without a mutation."""

SLOW_LIMIT = 900.0
"""Seconds that the slow tests of the folders that fit may take."""

QUICK, SLOW = "not slow", "slow"
"""Kinds of tests, as expressions of markers."""


class Tests:
    """The quick tests in a copy of the repository, by folder, with the seconds that they take without a mutation."""

    __test__ = False

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        self._log = copy / "build" / "pytest.log"
        self._seconds: dict[str, float] = {}

    def measure(self) -> None:
        """See how long the tests of each folder take. Raises SystemExit if they fail without a mutation."""
        for folder in FOLDERS:
            began = time.monotonic()
            if self._exit_code([folder], QUICK):
                raise SystemExit(f"{self._log.read_text()}\ntests/{folder} fails without a mutation: mend it first")
            self._seconds[folder] = time.monotonic() - began
            print(f"{self._seconds[folder]:.0f} s: the quick tests of {folder}", flush=True)

    def killer(self, folders: Sequence[str], kind: str = QUICK) -> str:
        """The test of a kind that notices a mutation; empty if there is none."""
        try:
            limit = max(PATIENCE, 5 * sum(self._seconds[folder] for folder in folders)) if kind == QUICK else SLOW_LIMIT
            code = self._exit_code(folders, kind, limit)
            if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                return ""
        except subprocess.TimeoutExpired:
            return "the time limit"
        lines = self._log.read_text(errors="replace").splitlines()
        failed = [line.split(" - ")[0] for line in lines if line[:6] in ("FAILED", "ERROR ")]
        return failed[0] if failed else f"pytest, which ended with {code}: {lines[-1] if lines else 'no output'}"

    def _exit_code(self, folders: Sequence[str], kind: str, limit: float | None = None) -> int:
        options = ["-qx", "--exhaustive", "none", "-m", kind, "-p", "no:cacheprovider"]
        self._log.parent.mkdir(exist_ok=True)
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *(f"tests/{folder}" for folder in folders)],
                cwd=self._copy,
                env=os.environ | {"PYTHONPATH": str(self._copy), "HYPOTHESIS_PROFILE": "ci"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            return process.wait(limit)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
            process.wait()


def copy_repository(folder: Path) -> None:
    """Copy what git does not ignore. Modules of the product are written as mutations of them are."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for path in (folder / PRODUCT).rglob("*.py"):
        path.write_text(ast.unparse(ast.parse(path.read_text())))
    for command in (["init", "--quiet"], ["add", "--all"]):  # tests ask git for the files
        subprocess.run(["git", *command], cwd=folder, check=True)
    # By its date and size, the byte code of one mutation would pass for that of the next.
    compile_dir(folder / PRODUCT, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def main() -> None:
    """Mutate, test, and print what survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    survived = 0
    with TemporaryDirectory(prefix="mutate-") as folder:
        copy = Path(folder)
        copy_repository(copy)
        tests = Tests(copy)
        tests.measure()
        for mutation in islice(mutations(ROOT, chosen.seed), chosen.count):
            (copy / mutation.path).write_text(mutation.after)
            fitting = FITTING[mutation.package]
            others = [folder for folder in FOLDERS if folder not in fitting]
            killer = tests.killer(fitting) or tests.killer(others) or tests.killer(fitting, SLOW)
            (copy / mutation.path).write_text(mutation.before)
            survived += not killer
            print(f"{mutation}\n{f'killed by {killer}' if killer else 'SURVIVED'}\n", flush=True)
    print(f"{chosen.count} mutations, seed {chosen.seed}: {chosen.count - survived} killed, {survived} survived")


if __name__ == "__main__":
    main()
