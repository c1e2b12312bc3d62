"""`explain`: the meaning of a check or an injection, its reason, examples, the remedy and the settings."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import Enum
from typing import Any, assert_never

import click

from webhook.cli.codes import complete_topics, padded
from webhook.cli.explanation import markdown, text
from webhook.cli.explanation.blocks import Explanation
from webhook.cli.explanation.contents import of_check, of_injection, overview
from webhook.cli.options import format_option
from webhook.cli.screen import paint, show, width
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.printable import printable
from webhook.policy.settings.formats import did_you_mean

_TOPICS: dict[str, Check[Any] | Injection] = {
    **{check.code.lower(): check for check in CHECKS},
    **{injection.name.lower(): injection for injection in ALL},
}


class ExplainFormat(Enum):
    """A format of `explain`. The value is the word that `-o` takes."""

    TEXT = "text"
    MARKDOWN = "markdown"

    def written(self, explanations: Iterable[Explanation]) -> str:
        """Return the explanations in this format; text as wide as the terminal."""
        match self:
            case ExplainFormat.TEXT:
                return "\n\n".join(text.write(one, width(), paint(sys.stdout)) for one in explanations)
            case ExplainFormat.MARKDOWN:
                return "\n".join(map(markdown.write, explanations))
            case _:
                assert_never(self)


@click.command(name="explain")
@click.argument("codes", metavar="[CODE]...", nargs=-1, shell_complete=complete_topics)
@click.option("--all", "everything", is_flag=True, help="Explain all checks and injections.")
@format_option(ExplainFormat.TEXT, "The format.")
def command(codes: tuple[str, ...], everything: bool, output: ExplainFormat) -> None:
    """Explain checks and injections: meaning, reason, examples, remedy and settings.

    CODE is the code of a check or the name of an injection. Without CODE, list all of them.

    \b
    Examples:
      gpushare-webhook explain GPS001
      gpushare-webhook explain GPS001 runtimeClass
    """
    if everything and codes:
        raise click.UsageError("--all explains every code; omit the codes, or omit --all")
    topics = _TOPICS.values() if everything else _find(codes)
    show(output.written(map(_explanation, topics) if topics else [overview()]))


def _explanation(topic: Check[Any] | Injection) -> Explanation:
    return of_injection(topic) if isinstance(topic, Injection) else of_check(topic)


def _find(codes: tuple[str, ...]) -> list[Check[Any] | Injection]:
    """Return the checks and injections, each once. Raises UsageError that names every unknown code."""
    unknown = [code for code in dict.fromkeys(codes) if code.lower() not in _TOPICS]
    if unknown:
        raise click.UsageError("; ".join(map(_unknown, unknown)))
    return [_TOPICS[code] for code in dict.fromkeys(code.lower() for code in codes)]


def _unknown(code: str) -> str:
    known = [*(check.code for check in CHECKS), *(injection.name for injection in ALL)]
    remedy = did_you_mean(padded(code), known) or "`gpushare-webhook explain` lists them"
    return f'there is no check or injection "{printable(code)}"; {remedy}'
