"""`export`: the guard as manifests."""

from __future__ import annotations

import click

from webhook import __version__
from webhook.cli.options import config_option, profile_option, read_standard_input_once, single_option
from webhook.cli.output import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import configuration, settings_file
from webhook.guard import exported, why_absent
from webhook.policy.messages import printable
from webhook.policy.settings.formats import NAMESPACED_NAME
from webhook.settings.options import Option


@click.group(name="export")
def command() -> None:
    """Write the guard as manifests."""


def _installation(_context: click.Context, _option: click.Parameter, value: str) -> list[str]:
    if not NAMESPACED_NAME.allows(value):
        raise click.BadParameter(f"must be {NAMESPACED_NAME.description}")
    return value.split("/")


@command.command(name="guard")
@config_option
@profile_option
@single_option(
    "--installed-as",
    "installation",
    default="gpushare-webhook/gpushare-webhook",
    metavar="NAMESPACE/NAME",
    callback=_installation,
    help="The release whose mode the guard obeys.",
)
@click.option(
    "--static", "is_static", is_flag=True, help="For the policy files of an API server instead of for kubectl."
)
def guard(config: str | None, profile: list[Option], installation: list[str], is_static: bool) -> None:
    """Write the guard for the settings.

    The guard is a ValidatingAdmissionPolicy with its binding. The API server evaluates it itself: while no replica of
    the webhook answers, it denies new pods by GPS001 and GPS002. With the webhook, set guard.enabled in its settings
    too.

    \b
    Examples:
      gpushare-webhook export guard | kubectl apply -f -
      gpushare-webhook export guard --static > guard.yaml
    """
    from webhook.settings.configuration import view

    read_standard_input_once(config=config)
    file = settings_file(config)
    configured = configuration(None if file is None else file.file, profile)
    written = view(configured)
    asked = configured.settings.guard.enabled
    if reason := why_absent(written, asked=asked):
        remedy = "" if asked or why_absent(written, asked=True) else _ASK
        raise click.UsageError(f"these settings allow no guard: {reason}{remedy}")
    of = "the default settings" if file is None else f"the settings of {file}"
    head = printable(f"# The guard of gpushare-webhook {__version__} for {of}.", LINE) + "\n"
    show(head + exported(written, *installation, is_static=is_static))


_ASK = "; if a node that shares through MPS is always there, set guard.enabled: true"
