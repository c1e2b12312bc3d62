"""What edits change in an object, as a unified diff of its YAML."""

from __future__ import annotations

from difflib import unified_diff

import yaml

from webhook.report.as_text import Paint, plain

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def write(title: str, before: object, after: object, paint: Paint = plain, context: int = 3) -> str:
    """The diff, with the title in its head and lines of context; empty when nothing changes."""
    lines = unified_diff(_lines(before), _lines(after), title, f"{title} with edits", lineterm="", n=context)
    return "".join(f"{paint(line, _COLOURS[line[0]]) if line[0] in _COLOURS else line}\n" for line in lines)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the same object twice is written twice
        return True


def _lines(value: object) -> list[str]:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000).splitlines()
