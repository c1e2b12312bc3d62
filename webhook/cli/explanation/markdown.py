"""An explanation as Markdown, for the reference and for the documents of other projects."""

from __future__ import annotations

from collections.abc import Iterator
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
from webhook.cli.explanation.text import findings
from webhook.cli.explanation.wrapping import wrapped
from webhook.policy.description import address

_WIDTH = 120
"""Columns of a line of running text, as in all pages of the project."""

_CODE_WIDTH = 110
"""Columns of a block of code: wider ones need a scroll bar on most pages."""


def write(explanation: Explanation) -> str:
    """Return a whole document."""
    return f"# {explanation.title}\n\n{body(explanation, 2)}"


def body(explanation: Explanation, level: int) -> str:
    """Return what follows the title; the sections have headings of this level."""
    return "\n\n".join([explanation.lead, *_sections(explanation, "#" * level)]) + "\n"


def _sections(explanation: Explanation, marks: str) -> Iterator[str]:
    for section in explanation.sections:
        yield f"{marks} {section.title}"
        yield from map(_block, section.blocks)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return wrapped(text, _WIDTH)
        case Items(texts):
            return "\n".join(wrapped(text, _WIDTH, before="- ", after="  ") for text in texts)
        case Terms(terms):
            return "\n".join(f"- **{term.name}** ({term.note}): {term.text}" for term in terms)
        case Links(sources):
            return "\n".join(f"- [{_name(source)}]({address(source)})" for source in sources)
        case File(label, content):
            return f"{label}:\n\n{_code('yaml', content)}"
        case Report(label):
            return f"{label}:\n\n{_code('text', findings(block, _CODE_WIDTH))}"
        case Defaults(settings):
            return _code("yaml", settings_file(settings, _CODE_WIDTH))
        case _:
            assert_never(block)


def _name(source: str) -> str:
    return source.removeprefix("https://").replace(":", " ")


def _code(language: str, content: str) -> str:
    return f"```{language}\n{content.rstrip()}\n```"
