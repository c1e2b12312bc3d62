"""The extras of the distribution: the libraries that a command needs beyond those of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import click

from webhook.report.exit_codes import ExitCode

_CLUSTER = ("aiohttp", "kubernetes")

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "cluster": _CLUSTER,
    "server": (*_CLUSTER, "cryptography", "prometheus_client", "uvloop"),
}
"""The modules that each extra of pyproject.toml installs."""


class MissingExtraError(click.ClickException):
    """Libraries that the user's request needs are not installed."""

    exit_code = ExitCode.WRONG_INPUT


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def require(extra: str, feature: str) -> None:
    """Check that the libraries of a feature are installed. Raises MissingExtraError."""
    if absent := missing(extra):
        raise MissingExtraError(
            f"{feature} needs libraries that are not installed ({', '.join(absent)}): "
            f"install gpushare-webhook[{extra}] in place of gpushare-webhook"
        )
