"""`explain`: the meaning of a check or an injection, its reason, the remedy, and examples."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import TextWrapper, indent
from typing import Any

import click

from webhook.cli.examples import examples_of
from webhook.cli.examples.example import Example
from webhook.cli.examples.report import report_wrong
from webhook.cli.screen import show
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.printable import printable
from webhook.report.check.text import TextWriter
from webhook.report.writer import written


@click.command(name="explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a check or an injection: its meaning, its reason, the remedy and examples.

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


def _find(code: str) -> Check[Any] | Injection | None:
    wanted = code.lower()
    for check in CHECKS:
        if check.code.lower() == wanted:
            return check
    return next((injection for injection in ALL if injection.name.lower() == wanted), None)


def _text(found: Check[Any] | Injection) -> str:
    if isinstance(found, Injection):
        reasons = "".join(f"  - {reason}\n" for reason in found.reasons)
        return f"{found.name}: {found.description.strip()}\n\nWithheld where:\n{reasons}"
    head = f"{found.code}: {found.description.strip()}\n"
    scope = f"\nDefault severity: {found.severity.label}. Applies to {found.scope.value}.\n"
    return head + scope + "".join(line for example in examples_of(found.code) for line in _example(found, example))


def _example(check: Check[Any], example: Example) -> Iterator[str]:
    yield f"\nExample: {example.about}\n"
    for title, text in (("settings", example.settings), ("facts", example.facts), ("wrong", example.wrong)):
        if text:
            yield _block(title, text)
    yield _block("findings", _wrapped(written(TextWriter(), report_wrong(check, example))))
    yield _block("right", example.right)


def _block(title: str, text: str) -> str:
    return f"\n  {title}:\n\n{indent(text, '    ')}"


def _wrapped(text: str) -> str:
    """The lines of a text, continued below where they are longer than a screen is wide."""
    wrapped = TextWrapper(112, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False).wrap
    return "".join("\n".join(wrapped(line)) + "\n" for line in text.splitlines())
