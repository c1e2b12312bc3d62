"""NVIDIA's device plugin of each release: programs that say with which error it ends for a configuration.

Each is the plugin's own main package, built from its module, with its own options, loader and `validateFlags`. Only the
call that runs the program is replaced (`loader/verdicts.go`), by one that ends before it asks for the hardware. This
module builds the missing ones where it is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

_HERE: Final = Path(__file__).parent
_LOADER: Final = _HERE / "loader"
_MODULE: Final = "github.com/NVIDIA/k8s-device-plugin"
_MAIN: Final = "cmd/nvidia-device-plugin"

START: Final[Mapping[str, str]] = {
    "v0.15": "before-v0.16",
    "v0.16": "before-v0.17",
    **dict.fromkeys(("v0.17", "v0.18", "v0.19", "v0.20"), "newest"),
}
"""The folder of `loader/` with what `startPlugins` does in a release before it asks for the hardware."""

BUILT: Final = tuple(sorted(folder.name for folder in (_HERE / "go").iterdir()))
"""The releases whose modules are downloaded. Of others, verdicts are recorded (`record.py`)."""

_REPLACED: Final = {
    "c.Run(os.Args)": "answerLines(c)",
    "nvinfo.New().HasNvml()": "nvmlSystem{nvinfo.New()}.HasNvml()",
}
"""Calls in main.go, and those in their place. The second one is in v0.15 alone: later releases pass the system on."""


def recipe(release: str) -> Recipe:
    """The program of a release, of the version in its go.mod, and the plugin's README.md."""
    source = _HERE / "go" / release
    key = key_of(source, _LOADER, *_REPLACED.values(), *gobuild.FLAGS)
    return Recipe(f"device-plugin-{release}", key, lambda folder: _fill(source, release, folder))


def _fill(source: Path, release: str, folder: Path) -> None:
    modules = folder / "modules"
    plugin = gobuild.download(source, _MODULE, modules)
    shutil.copyfile(plugin / "README.md", folder / "README.md")
    build(plugin, release, folder / "loader")
    shutil.rmtree(modules)


def build(plugin: Path, release: str, program: Path) -> None:
    """Build the program from the plugin's source, which is changed. Raises ToolsMissingError."""
    for file in (_LOADER / "verdicts.go", _LOADER / START[release] / "load.go"):
        shutil.copyfile(file, plugin / _MAIN / file.name)
    main = plugin / _MAIN / "main.go"
    text = main.read_text()
    for call, replacement in _REPLACED.items():
        text = text.replace(call, replacement)
    main.write_text(text)
    # The module may hold an empty folder `vendor`.
    gobuild.build(plugin, program, "-mod=readonly", cgo=True, package=f"./{_MAIN}")


def verdicts(program: Path, texts: Iterable[str]) -> list[str | None]:
    """The error for each configuration; None where the plugin starts."""
    done = subprocess.run(
        [program],
        input="".join(f"{json.dumps(text)}\n" for text in texts),
        capture_output=True,
        text=True,
        env=os.environ | {"MPS_ROOT": "/run/nvidia/mps"},  # as NVIDIA's charts set it
        timeout=300,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Build what is missing, one after the other, and print the folders."""
    try:
        for release in BUILT:
            print(recipe(release).make())
    except ToolsMissingError as problem:
        print(f"plugin-loaders: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
