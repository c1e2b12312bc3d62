"""An explanation as text for a terminal of some width.

Only running text is wrapped. YAML and words keep their length, so that they can be copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import assert_never

from webhook.cli.explanation.blocks import (
    Block,
    Defaults,
    Explanation,
    File,
    Items,
    Links,
    Paragraph,
    Report,
    Terms,
)
from webhook.cli.explanation.settings import settings_file
from webhook.cli.explanation.wrapping import wrapped
from webhook.policy.description import address
from webhook.report.paint import Paint, plain

_NARROWEST = 20
"""Columns of the narrowest terminal; in a narrower one, lines are longer than the terminal is wide."""


def write(explanation: Explanation, width: int, paint: Paint = plain) -> str:
    """Return the explanation with lines of at most `width` columns, as far as words and YAML allow."""
    width = max(width, _NARROWEST)
    paragraphs = [_heading(explanation.title, width, paint), wrapped(explanation.lead, width)]
    for section in explanation.sections:
        blocks = [indent(_block(block, width - 2), "  ") for block in section.blocks]
        paragraphs += [f"{_heading(section.title, width, paint)}\n{blocks[0]}", *blocks[1:]]
    return "\n\n".join(paragraphs) + "\n"


def findings(report: Report, width: int) -> str:
    """Return the lines of the findings, each continued below with an indent."""
    return "\n".join(line for finding in report.findings for line in _finding(finding, width))


def _finding(lines: tuple[str, ...], width: int) -> Iterator[str]:
    yield wrapped(lines[0], width, after="    ")
    yield from (wrapped(line, width, before="  ", after="    ") for line in lines[1:])


def _heading(title: str, width: int, paint: Paint) -> str:
    return "\n".join(paint(line, "bold") for line in wrapped(title, width).splitlines())


def _block(block: Block, width: int) -> str:
    match block:
        case Paragraph(text):
            return wrapped(text, width)
        case Items(texts):
            return "\n".join(wrapped(text, width, before="- ", after="  ") for text in texts)
        case Terms():
            return _terms(block, width)
        case Links(sources):
            return "\n".join(map(address, sources))
        case File(label, content):
            return f"{wrapped(label, width - 1)}:\n\n{indent(content, '  ').rstrip()}"
        case Report(label):
            return f"{wrapped(label, width - 1)}:\n\n{indent(findings(block, width - 2), '  ')}"
        case Defaults(settings):
            return indent(settings_file(settings, width - 2), "  ").rstrip()
        case _:
            assert_never(block)


def _terms(block: Terms, width: int) -> str:
    """Return one line per name; the text begins in the same column everywhere."""
    names = max(len(term.name) for term in block.terms)
    notes = max(len(term.note) for term in block.terms)
    heads = [f"{term.name:{names}}  {term.note:{notes}}  " for term in block.terms]
    return "\n".join(
        wrapped(term.text, width, before=head, after=" " * len(head))
        for term, head in zip(block.terms, heads, strict=True)
    )
