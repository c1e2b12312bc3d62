"""Record what kustomize builds into data/kustomize.json: `python tests/manifests/record_kustomize.py`.

`kubectl kustomize` builds the folder `over` of each case; the version of kustomize in it stands in the file. The table
holds the cases too: to add one, add its name and its files there, and record again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = HERE / "data" / "kustomize.json"


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def built(program: str, top: Path) -> list[Any] | None:
    """Return the objects of the folder `over`; None if kustomize does not build it."""
    from tests.manifests.reading import read
    from webhook.manifests import Manifest

    done = subprocess.run([program, "kustomize", "over"], cwd=top, capture_output=True, check=False)
    if done.returncode:
        return None
    return [one.value for one in read("built.yaml", done.stdout) if isinstance(one, Manifest)]


def main() -> None:
    program = shutil.which("kubectl")
    if program is None:
        sys.exit("there is no kubectl on PATH")
    table = json.loads(TABLE.read_text())
    version = subprocess.run([program, "version", "--client", "-o", "json"], capture_output=True, check=True).stdout
    table["kustomize"] = json.loads(version)["kustomizeVersion"]
    for case in table["cases"].values():
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), case["files"])
            case["built"] = built(program, Path(folder))
    cases = ",\n".join(f" {json.dumps(name)}: {json.dumps(case)}" for name, case in table["cases"].items())
    TABLE.write_text(f'{{"kustomize": "{table["kustomize"]}", "cases": {{\n{cases}\n}}}}\n')


if __name__ == "__main__":
    main()
