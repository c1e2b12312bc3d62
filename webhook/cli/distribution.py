"""The installed distribution: gpushare-webhook contains everything, gpushare-check only what needs no cluster.

Both contain this package, and the second lacks modules of it: see `light/pyproject.toml`.
"""

from __future__ import annotations

from importlib.util import find_spec

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
    if _version(LIGHT) != _version(FULL) and (problem := conflict()):
        raise ConflictError(problem)


def conflict() -> str | None:
    """Return the problem where both distributions are installed, because they share files; None otherwise."""
    full, light = _version(FULL), _version(LIGHT)
    if full is None or light is None:
        return None
    return (
        f"{FULL} {full} and {LIGHT} {light} are both installed and share files, so that each breaks when the other "
        "changes: uninstall both, then install one"
    )


def _version(name: str) -> str | None:
    """The installed version of a distribution; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
