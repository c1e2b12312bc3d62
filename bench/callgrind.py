"""Instructions of each step of a review, counted by callgrind, so that the load of the machine does not matter.

valgrind executes the program on a processor of its own making, so that its counts do not depend on what else runs.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMEOUT = 300
_MARK = "getppid"  # see bench.steps.mark
_TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)

Counts = dict[tuple[str, str], float]
"""Instructions a review, by the title of the subject and the name of the step."""


class CannotCountError(Exception):
    """Instructions cannot be counted here; the message says why."""


def foundation() -> str:
    """The versions that counts depend on besides this code: counts are comparable if these are equal."""
    flags = re.findall(r"--(?:enable-optimizations|with-lto\S*|enable-shared|with-pydebug)", _configured())
    libc = " ".join(platform.libc_ver()) or "unknown libc"
    built = " ".join([platform.python_compiler(), *sorted(flags)])
    return (
        f"{platform.python_implementation()} {platform.python_version()} ({built}), {libc}, {platform.machine()}, "
        f"msgspec {version('msgspec')}"
    )


def _configured() -> str:
    return str(sysconfig.get_config_var("CONFIG_ARGS") or "")


def count(reviews: int) -> Counts:
    """Instructions per review: those for `2 * reviews` minus those for `reviews`, so that one-time work cancels out.

    Raises CannotCountError.
    """
    if shutil.which("valgrind") is None:
        raise CannotCountError("valgrind is not on PATH (package valgrind)")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        command = [
            *("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={_MARK}"),
            *(sys.executable, "-m", "bench.steps", str(reviews)),
        ]
        # Hashes of text decide where entries of a dict lie, and so how many of them a look-up passes.
        environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if done.returncode:
            raise CannotCountError(f"`{' '.join(command[:2])}` failed: {done.stderr.strip()[-2000:]}")
        between = [json.loads(line) for line in done.stdout.splitlines()]
        # Two dumps for each step: at its first mark with what preceded it, at its second mark with the step.
        totals = [_total(Path(f"{out}.{2 * number}")) for number in range(1, len(between) + 1)]
    counted = {(subject, step, many): total for (subject, step, many), total in zip(between, totals, strict=True)}
    return {
        (subject, step): (counted[subject, step, 2 * reviews] - counted[subject, step, reviews]) / reviews
        for subject, step, many in counted
        if many == reviews
    }


def _total(dump: Path) -> int:
    found = _TOTAL.search(dump.read_text())
    if found is None:
        raise CannotCountError(f"callgrind wrote no total into {dump.name}")
    return int(found[1])
