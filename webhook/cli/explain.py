"""`explain`: the meaning of a check or an injection, its reason, examples, the remedy and the settings."""

from __future__ import annotations

import re
import sys
from enum import Enum
from textwrap import indent, wrap
from typing import Any, assert_never

import click
from click.shell_completion import CompletionItem

from webhook.cli.options import completed, format_option, instead_of
from webhook.cli.output import paint, show, width
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.policy.messages import printable
from webhook.report.explanation import explanation
from webhook.report.lines import NARROWEST, Paint
from webhook.settings.configuration import default, view

_TOPICS: dict[str, Check[Any] | Injection] = {
    **{check.code.lower(): check for check in CHECKS},
    **{injection.name.lower(): injection for injection in ALL},
}

_TITLES = {check.code: check.title for check in CHECKS} | {injection.name: injection.title for injection in ALL}


def complete_topics(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a code, or the name of an injection, in any case."""
    return completed(_TITLES, incomplete)


class ExplainFormat(Enum):
    """A format of `explain`. The value is the word that `-o` takes."""

    TEXT = "text"
    MARKDOWN = "markdown"


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
    pages = map(explanation, topics) if topics else [_overview()]
    match output:
        case ExplainFormat.TEXT:
            columns = max(width(), NARROWEST)
            show("\n\n".join(_text(page, columns, paint(sys.stdout)) for page in pages))
        case ExplainFormat.MARKDOWN:
            show("\n".join(_LOCAL.sub(r"\1", page) for page in pages))
        case _:
            assert_never(output)


def _find(codes: tuple[str, ...]) -> list[Check[Any] | Injection]:
    """Return the checks and injections, each once. Raises UsageError that names every unknown code."""
    if unknown := [code for code in dict.fromkeys(codes) if code.lower() not in _TOPICS]:
        problems = (
            f'there is no check or injection "{printable(code)}"; {instead_of(code, _TITLES)}' for code in unknown
        )
        raise click.UsageError("; ".join(problems))
    return [_TOPICS[code] for code in dict.fromkeys(code.lower() for code in codes)]


def _overview() -> str:
    switches = view(default())["injections"]
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

_BLOCK = re.compile(r"```\w+\n(.*?)```\n|(#+) (.+?)\n|([^\n].*?\n)(?=\n|\Z)", re.DOTALL)
"""A block of code, a heading, or a paragraph, which may be a list."""

_LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")
_LOCAL = re.compile(r"\[([^]]+)\]\(\.[^)]+\)")
"""A link within this repository, which leads nowhere from the documents of other projects."""

_TERM = re.compile(r"\*\*(\w+)\*\* \((\w+)\): (.+)")


def _text(page: str, columns: int, paint: Paint) -> str:
    """Return a page for a terminal: running text fits the columns; YAML and words keep their length."""
    written, before, margin = "", "", ""
    for code, marks, heading, paragraph in _BLOCK.findall(page):
        if marks:
            written += before + "\n".join(paint(line, "bold") for line in _wrapped(heading, columns))
            before, margin = ("\n\n", "") if marks == "#" else ("\n", "  ")
        else:
            lines = (
                _running(paragraph, columns - len(margin)) if paragraph else [f"  {line}" for line in code.splitlines()]
            )
            written += before + indent("\n".join(lines), margin)
            before = "\n\n"
    return written + "\n"


def _running(paragraph: str, columns: int) -> list[str]:
    """Return the lines of a paragraph or a list. A link of the reference is its text, a source is its address."""
    if not paragraph.startswith("- "):
        return _wrapped(_LINK.sub(r"\1", " ".join(paragraph.split())), columns)
    items = [" ".join(item.split()) for item in re.split("^- ", paragraph, flags=re.MULTILINE)[1:]]
    if terms := [found.groups() for item in items if (found := _TERM.fullmatch(item))]:
        names, notes = (max(len(term[column]) for term in terms) for column in (0, 1))
        return [
            line
            for name, note, text in terms
            for line in _wrapped(text, columns, f"{name:{names}}  {note:{notes}}  ", " " * (names + notes + 4))
        ]
    lines: list[str] = []
    for item in items:
        link = _LINK.fullmatch(item)
        lines += [link[2]] if link else _wrapped(_LINK.sub(r"\1", item), columns, "- ", "  ")
    return lines


def _wrapped(text: str, columns: int, before: str = "", after: str = "") -> list[str]:
    return wrap(
        text,
        columns,
        initial_indent=before,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    )
