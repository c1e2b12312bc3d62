"""The description of a check or an injection as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

PARTS = ("Reads", "Adds", "Why", "Remedy", "Not when")
"""The words with which a part of a description begins."""


def paragraphs(description: str) -> Iterator[str]:
    """Yield the parts that follow the title, as a list."""
    for line in description.strip().partition("\n\n")[2].splitlines():
        word, colon, text = line.partition(":")
        yield f"- **{word}:**{text}" if colon and word in PARTS else f"  {line}"
