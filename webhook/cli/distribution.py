"""The installed distribution: gpushare-webhook contains everything, gpushare-check only what needs no cluster.

Both contain this package, and the second lacks modules of it: see `light/pyproject.toml`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from webhook.report.exit_codes import ExitCode

FULL = "gpushare-webhook"
LIGHT = "gpushare-check"


class NotIncludedError(click.ClickException):
    """What the user asks for is not part of the installed distribution."""

    exit_code = ExitCode.WRONG_INPUT


class ConflictError(click.ClickException):
    """The modules belong to two versions of the program."""

    exit_code = ExitCode.WRONG_INPUT


def contains(module: str) -> bool:
    """Return whether the installed distribution contains a module of `webhook.cli`."""
    return find_spec(f"webhook.cli.{module}") is not None


def require(module: str, feature: str) -> None:
    """Check that the installed distribution contains the module that a feature needs. Raises NotIncludedError."""
    if not contains(module):
        raise NotIncludedError(f"{LIGHT} does not contain {feature}; install {FULL} in its place, which does")


def verify_one_version() -> None:
    """Check that no other version of gpushare-check has replaced modules of gpushare-webhook. Raises ConflictError."""
    if len(set(_installed().values())) > 1:
        raise ConflictError(conflict())


def conflict() -> str:
    """Return the problem where both distributions are installed, because they share files; otherwise empty text."""
    installed = _installed()
    if len(installed) < 2:
        return ""
    both = " and ".join(f"{name} {version}" for name, version in installed.items())
    return (
        f"{both} are both installed and share files, so that each breaks when the other changes: "
        "uninstall both, then install one"
    )


def _installed() -> dict[str, str]:
    """The distributions that pip installed beside this package, with their versions.

    `importlib.metadata` would search every folder of `sys.path`, and take longer to import than a command takes.
    """
    folder = Path(__file__).parents[2]
    found = {}
    for name in (FULL, LIGHT):
        for metadata in folder.glob(f"{name.replace('-', '_')}-*.dist-info"):
            found[name] = metadata.stem.partition("-")[2]
    return found
