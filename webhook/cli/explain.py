"""`explain`: the meaning of a check or an injection, its reason, examples, the remedy and the settings."""

from __future__ import annotations

import re
import sys
from textwrap import fill
from typing import Any

import click
from click.shell_completion import CompletionItem

from webhook.cli.options import LISTED
from webhook.cli.output import paint, show, width
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.messages import printable
from webhook.report.explanation import portable
from webhook.report.lines import NARROWEST, Paint
from webhook.settings.configuration import Configuration, view

_TOPICS: dict[str, Check[Any] | Injection] = {
    **{check.code: check for check in CHECKS},
    **{injection.name: injection for injection in ALL},
}

_FOLDED = {name.lower(): topic for name, topic in _TOPICS.items()}


def complete_topics(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a code, or the name of an injection, in any case."""
    fitting = ((name, topic) for name, topic in _TOPICS.items() if name.lower().startswith(incomplete.lower()))
    return [CompletionItem(name, help=topic.title) for name, topic in fitting]


@click.command(name="explain")
@click.argument("codes", metavar="[CODE]...", nargs=-1, shell_complete=complete_topics)
def command(codes: tuple[str, ...]) -> None:
    """Explain checks and injections: meaning, reason, examples, remedy and settings.

    CODE is the code of a check or the name of an injection. Without CODE, list all of them.

    \b
    Examples:
      gpushare-webhook explain GPS001
      gpushare-webhook explain GPS001 runtimeClass
    """
    topics = _find(codes)
    pages = map(portable, topics) if topics else [_overview()]
    columns = max(width(), NARROWEST)
    show("\n".join(_fitting(page, columns, paint(sys.stdout)) for page in pages))


def _find(codes: tuple[str, ...]) -> list[Check[Any] | Injection]:
    """Return the checks and injections, each once. Raises UsageError that names every unknown code."""
    if unknown := [code for code in dict.fromkeys(codes) if code.lower() not in _FOLDED]:
        names = ", ".join(f'"{printable(code)}"' for code in unknown)
        raise click.UsageError(f"there is no check or injection {names}; {LISTED}")
    return [_FOLDED[code] for code in dict.fromkeys(code.lower() for code in codes)]


def _overview() -> str:
    switches = view(Configuration())["injections"]
    injections = [
        (injection.name, "on" if switches[injection.name]["enabled"] else "off", injection.title) for injection in ALL
    ]
    lists = {"Checks": [(check.code, check.severity.label, check.title) for check in CHECKS], "Injections": injections}
    return _OVERVIEW + "".join(
        f"\n## {title}\n\n" + "".join(f"- **{name}** ({note}): {text}\n" for name, note, text in names)
        for title, names in lists.items()
    )


_OVERVIEW = """\
# Checks and injections

With their default severities and switches. `gpushare-webhook explain CODE` explains one of them.
"""

_BLOCK = re.compile(r"^```.*?^```$|^#[^\n]*|^\S[^\n]*(?:\n(?!- )[^\n]+)*", re.DOTALL | re.MULTILINE)
"""A block of code, a heading, or a paragraph or an item of a list."""


def _fitting(page: str, columns: int, paint: Paint) -> str:
    """Return a page whose running text fits the columns. Code, headings and words keep their length."""

    def fitted(block: re.Match[str]) -> str:
        text = block[0]
        if text.startswith("```"):
            return text
        if text.startswith("#"):
            return paint(text, "bold")
        indent = "  " if text.startswith("- ") else ""
        words = " ".join(text.split())
        return fill(words, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    return _BLOCK.sub(fitted, page)
