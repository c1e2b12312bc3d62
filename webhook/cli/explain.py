"""`explain`: the meaning of a check or an injection, its reason, and the remedy."""

from __future__ import annotations

import click

from webhook.cli.screen import show
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.printable import printable


@click.command(name="explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a check or an injection: its meaning, its reason and the remedy.

    Without CODE, list all checks and injections.

    \b
    Example:
      gpushare-webhook explain GPS001
    """
    if code is None:
        show(overview())
        return
    found = _find(code)
    if found is None:
        known = ", ".join([check.code for check in CHECKS] + [injection.name for injection in ALL])
        raise click.UsageError(f'there is no check or injection "{printable(code)}"; choose from {known}')
    show(_text(found))


def overview() -> str:
    """Return a line for each check and injection."""
    lines = ["Checks:"]
    lines += [f"  {check.code}  {check.severity.label:5} {check.title}" for check in CHECKS]
    lines += ["", "Injections:"]
    lines += [f"  {injection.name:14} {injection.title}" for injection in ALL]
    return "\n".join(lines) + "\n"


def _find(code: str) -> Check | Injection | None:
    wanted = code.lower()
    for check in CHECKS:
        if check.code.lower() == wanted:
            return check
    return next((injection for injection in ALL if injection.name.lower() == wanted), None)


def _text(found: Check | Injection) -> str:
    if isinstance(found, Injection):
        return f"{found.name}: {found.description.strip()}\n"
    head = f"{found.code}: {found.description.strip()}\n"
    return f"{head}\nDefault severity: {found.severity.label}. Applies to {found.scope.value}.\n"
