"""wrk, if it is installed, cross-checks the counts of the load generator."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.load_generator import Load, LoadError
from bench.machine import Machine, pinned

_MARGIN = 60
_SCRIPT = """\
local bodies, turn = {{}}, 0
for line in io.lines("{bodies}") do bodies[#bodies + 1] = line end
local headers = {{["Content-Type"] = "application/json"}}
function request()
  turn = turn % #bodies + 1
  return wrk.format("POST", nil, headers, bodies[turn])
end
"""


def installed() -> bool:
    """Whether wrk is on the PATH."""
    return shutil.which("wrk") is not None


def rate(load: Load, machine: Machine) -> float:
    """Requests per second of a closed loop, as wrk counts them. Raises LoadError."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "request.lua")
        script.write_text(_SCRIPT.format(bodies=load.bodies))
        # Whole seconds only.
        options = ["-t1", f"-c{load.connections}", f"-d{max(1, round(load.seconds))}s", "-s", str(script)]
        ended = subprocess.run(
            ["wrk", *options, f"https://{load.address}{load.path}"],
            capture_output=True,
            text=True,
            timeout=load.seconds + _MARGIN,
            preexec_fn=pinned(machine.load),
            check=False,
        )
    found = re.search(r"Requests/sec:\s+([0-9.]+)", ended.stdout)
    if found is None or "Non-2xx" in ended.stdout or "Socket errors" in ended.stdout:
        raise LoadError(f"wrk: {ended.stdout} {ended.stderr}")
    return float(found[1])
