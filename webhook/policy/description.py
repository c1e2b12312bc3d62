"""The description of a check or an injection: a title, and parts that begin with a name and a colon.

An empty line separates paragraphs. A source is an issue or a pull request (`owner/repository#1`), a path in a
repository (`owner/repository:path`) or an address.
"""

from __future__ import annotations

from collections.abc import Mapping

PARTS = ("Reads", "Adds", "Why", "Exceptions", "Not when", "Remedy")
"""The names of parts, in their order."""


def title(description: str) -> str:
    """Return the first line, without its period."""
    return description.partition("\n")[0].rstrip(".")


def parts(description: str) -> Mapping[str, tuple[str, ...]]:
    """Return the paragraphs of each part by its name, each as one line that begins with a capital letter."""
    found: dict[str, list[str]] = {}
    paragraphs: list[str] = []
    for paragraph in description.strip().split("\n\n")[1:]:
        text = " ".join(paragraph.split())
        name, _, rest = text.partition(": ")
        if name in PARTS:
            found[name] = paragraphs = []
            text = rest
        paragraphs.append(text[:1].upper() + text[1:])
    return {name: tuple(texts) for name, texts in found.items()}


def address(source: str) -> str:
    """Return the address of a source."""
    repository, _, number = source.partition("#")
    if source.startswith("https://"):
        return source
    if number:
        return f"https://github.com/{repository}/issues/{number}"
    repository, _, path = source.partition(":")
    return f"https://github.com/{repository}/blob/HEAD/{path}"
