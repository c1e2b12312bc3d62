"""`version`: the version of the program."""

from __future__ import annotations

import click

from webhook import __version__
from webhook.cli.output import show


@click.command(name="version")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The format."
)
def command(output: str) -> None:
    """Print the version."""
    show(f'{{"version": "{__version__}"}}\n' if output == "json" else f"gpushare-webhook {__version__}\n")
