"""The tools for the chart's tests. Run as a module, it builds the missing ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.cluster.harness import gobuild
from tests.cluster.harness.cache import Recipe, ToolsMissingError, key_of

_SOURCE = Path(__file__).parent / "go"
_HELM = "helm.sh/helm/v4/cmd/helm"
_PROMTOOL_SOURCE = Path(__file__).parent / "promtool"
_PROMTOOL = "github.com/prometheus/prometheus/cmd/promtool"
_NO_DISCOVERY = "-tags=remove_all_sd"  # without the clients of all clouds, which only service discovery needs


def recipe() -> Recipe:
    """Helm, its engine, the API server's code for conditions and the guard, and promtool, as go.mod pins them."""
    return Recipe("chart-tools", key_of(_SOURCE, _PROMTOOL_SOURCE, *gobuild.FLAGS, _NO_DISCOVERY), _fill)


def _fill(folder: Path) -> None:
    gobuild.build(_SOURCE, folder / "helm", package=_HELM)
    for program in ("renderer", "matcher", "guard"):
        gobuild.build(_SOURCE, folder / program, package=f"./{program}")
    gobuild.build(_PROMTOOL_SOURCE, folder / "promtool", _NO_DISCOVERY, package=_PROMTOOL)


@cache
def helm() -> str:
    """Helm 4: that on PATH, else the one that is built. Raises `ToolsMissingError`."""
    found = shutil.which("helm")
    if found is not None:
        version = subprocess.check_output([found, "version", "--template", "{{.Version}}"], text=True, timeout=60)
        if version.startswith("v4."):
            return found
    return str(recipe().make() / "helm")


@cache
def renderer() -> str:
    """The program that renders charts by Helm's engine. Raises `ToolsMissingError`."""
    return str(recipe().make() / "renderer")


@cache
def matcher() -> str:
    """The program that evaluates which entries are called. Raises `ToolsMissingError`."""
    return str(recipe().make() / "matcher")


@cache
def guard() -> str:
    """The program that evaluates a ValidatingAdmissionPolicy. Raises `ToolsMissingError`."""
    return str(recipe().make() / "guard")


@cache
def promtool() -> str:
    """The program that checks and tests rules of Prometheus. Raises `ToolsMissingError`."""
    return str(recipe().make() / "promtool")


def main() -> int:
    """Build what is missing, and print the paths."""
    try:
        built = (helm(), renderer(), matcher(), guard(), promtool())
    except ToolsMissingError as problem:
        print(f"chart-tools: {problem}", file=sys.stderr)
        return 1
    print("\n".join(built))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
