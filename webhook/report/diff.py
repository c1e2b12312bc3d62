"""What edits change in an object, as a unified diff of its YAML."""

from __future__ import annotations

from difflib import unified_diff

from webhook.policy.printable import printable
from webhook.report.as_text import Paint, plain
from webhook.report.data import yaml_text
from webhook.report.model import LINE

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def write(title: str, before: object, after: object, paint: Paint = plain, context: int = 3) -> str:
    """The diff, with the title in its head and lines of context; empty when nothing changes."""
    title = printable(title, LINE)
    lines = unified_diff(_lines(before), _lines(after), title, f"{title} with edits", lineterm="", n=context)
    return "".join(f"{paint(line, _COLOURS[line[0]]) if line[0] in _COLOURS else line}\n" for line in lines)


def _lines(value: object) -> list[str]:
    return yaml_text(value).removesuffix("\n").split("\n")
