"""The text of a page as Python-Markdown expects it: lists, tables and anchors differ from those of GitHub."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath, relpath

from docs.site.pages import pages

_CODE = re.compile(r"^ *(`{3,})[^`\n]*\n.*?^ *\1$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"`{3,}")
_MARKER = re.compile(r" *(?:[-*+]|\d+\.) +")


def converted(text: str, place: str) -> str:
    """Return the text of the page at a place in the site."""
    text = re.sub(r"^ *<!-- .*? -->\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^```mermaid\n(.*?)^```$", _walk, text, flags=re.MULTILINE | re.DOTALL)
    text = "\n".join(_indented(text)) + "\n"
    used: Counter[str] = Counter()
    done, position = "", 0
    for code in [*_CODE.finditer(text), None]:
        part = text[position : code.start() if code else len(text)]
        done += _linked(_unescaped(_anchored(part, used)), place)
        if code:
            done, position = done + code[0], code.end()
    return done


def _walk(diagram: re.Match[str]) -> str:
    """Return the boxes of a diagram as a list: the script that draws diagrams comes from another server."""
    return "\n".join(f"1. `{module}`: {text}" for module, text in re.findall(r'\["([^":]+): ([^"]+)"\]', diagram[1]))


def _indented(text: str) -> Iterator[str]:
    """Yield lines with four columns for each level of a list; those of a code block move with its first line."""
    levels: list[int] = []
    fence, shift = "", 0
    for line in text.splitlines():
        bare = line.lstrip()
        columns = len(line) - len(bare)
        while bare and not fence and levels and columns < levels[-1]:
            levels.pop()
        if not fence:
            shift = 4 * len(levels) - (levels[-1] if levels else 0)
        yield " " * (columns + shift) + bare if bare else ""
        if fence:
            fence = "" if bare == fence else fence
        elif opening := _FENCE.match(bare):
            fence = opening[0]
        elif marker := _MARKER.match(bare):
            levels.append(columns + marker.end())


def _anchored(text: str, used: Counter[str]) -> str:
    """Return a text in which headings have the anchors that GitHub derives, with a number if an anchor is in use."""

    def heading(found: re.Match[str]) -> str:
        anchor = re.sub(r"[^\w\- ]", "", found[2].lower()).replace(" ", "-")
        number = used[anchor]
        used[anchor] += 1
        return f"{found[0]} {{#{anchor}{f'-{number}' if number else ''}}}"

    return re.sub(r"^(#+) +(.+)$", heading, text, flags=re.MULTILINE)


def _unescaped(text: str) -> str:
    """Return a text without the backslashes that GitHub needs before a pipe in the code of a table."""
    return re.sub(r"`[^`\n]+`", lambda code: code[0].replace(r"\|", "|"), text)


def _linked(text: str, place: str) -> str:
    """Return a text in which links to pages lead to their places, and those to other files are plain text."""
    found_at = {file: page for page, file in pages().items()}
    folder = PurePosixPath(pages()[place]).parent

    def link(found: re.Match[str]) -> str:
        name, target, anchor = found[1], found[2], found[3] or ""
        if not target or re.match(r"\w+:", target):
            return found[0]
        file = normpath(f"{folder}/{target}")
        if file not in found_at:
            return name
        return f"[{name}]({relpath(found_at[file], PurePosixPath(place).parent)}{anchor})"

    return re.sub(r"(?<!!)\[([^\[\]]+)\]\(([^)\s#]*)(#[^)\s]*)?\)", link, text)
