"""The change that edits make in an object, as a unified diff of its YAML.

The diff follows the structure of the object, since edits only add. A comparison of texts takes quadratic time where
many lines are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.report.data import yaml_text
from webhook.report.paint import Paint, plain

_COLOURS = {"+": "green", "-": "red"}


class _Line(NamedTuple):
    """A line with its mark: a blank for both sides, `-` for before, `+` for after."""

    mark: str
    text: str


def write(title: str, before: object, after: object, paint: Paint = plain, context: int = 3) -> str:
    """Return the diff, with the title in its head and lines of context; empty when nothing changes."""
    lines = list(_compared(before, after))
    hunks = list(_hunks(lines, context))
    if not hunks:
        return ""
    title = printable(title, LINE)
    written = [paint(f"--- {title}", "red"), paint(f"+++ {title} with edits", "green")]
    old = new = 0
    end = 0
    for hunk in hunks:
        old, new = _passed(lines[end : hunk.start], old, new)
        old_end, new_end = _passed(lines[hunk.start : hunk.stop], old, new)
        written.append(paint(f"@@ -{_range(old, old_end)} +{_range(new, new_end)} @@", "cyan"))
        for mark, text in lines[hunk.start : hunk.stop]:
            written.append(paint(mark + text, _COLOURS[mark]) if mark in _COLOURS else mark + text)
        old, new, end = old_end, new_end, hunk.stop
    return "\n".join(written) + "\n"


def _hunks(lines: list[_Line], context: int) -> Iterator[range]:
    """Yield ranges of changed lines with their context. Ranges that touch form one hunk."""
    start = stop = 0
    for index, line in enumerate(lines):
        if line.mark == " ":
            continue
        if index - context > stop and stop:
            yield range(start, stop)
            stop = 0
        if not stop:
            start = max(0, index - context)
        stop = min(len(lines), index + context + 1)
    if stop:
        yield range(start, stop)


def _passed(lines: list[_Line], old: int, new: int) -> tuple[int, int]:
    """Return the line numbers of both sides after some lines."""
    return old + sum(line.mark != "+" for line in lines), new + sum(line.mark != "-" for line in lines)


def _range(start: int, stop: int) -> str:
    """Return the range of lines for a hunk's head: the first line, and the count unless it is 1."""
    length = stop - start
    if length == 1:
        return str(stop)
    return f"{start + 1 if length else start},{length}"


def _compared(before: Any, after: Any) -> Iterator[_Line]:
    """Yield the lines of both sides in order. Equal neighbours are dumped together."""
    if before == after:
        yield from _dumped(" ", after)
    elif not _has_grown(before, after):
        yield from _dumped("-", before)
        yield from _dumped("+", after)
    elif isinstance(after, dict):
        for is_same, keys in groupby(after, lambda key: key in before and before[key] == after[key]):
            if is_same:
                yield from _dumped(" ", {key: after[key] for key in keys})
            else:
                for key in keys:
                    yield from _member(key, before, after)
    else:
        for is_same, pairs in groupby(zip(before, after, strict=False), lambda pair: bool(pair[0] == pair[1])):
            if is_same:
                yield from _dumped(" ", [one for one, _ in pairs])
            else:
                for pair in pairs:
                    yield from _element(*pair)
        if len(after) > len(before):
            yield from _dumped("+", after[len(before) :])


def _has_grown(before: Any, after: Any) -> bool:
    """Return whether both are mappings, or both lists, and the later one keeps all entries in their order."""
    if isinstance(before, dict) and isinstance(after, dict):
        return bool(before) and list(after)[: len(before)] == list(before)
    return isinstance(before, list) and isinstance(after, list) and 0 < len(before) <= len(after)


def _member(key: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[_Line]:
    """Yield the lines of a member that is new or has changed."""
    old, new = before.get(key), after[key]
    head = yaml_text({key: {}}).removesuffix(" {}\n")
    if _has_grown(old, new) and "\n" not in head:
        yield _Line(" ", head)
        yield from _indented(_compared(old, new), "  " if isinstance(new, dict) else "")
        return
    if key in before:
        yield from _dumped("-", {key: old})
    yield from _dumped("+", {key: new})


def _element(old: Any, new: Any) -> Iterator[_Line]:
    """Yield the lines of an element that has changed: a dash precedes the first line of each side."""
    if not _has_grown(old, new):
        yield from _dumped("-", [old])
        yield from _dumped("+", [new])
        return
    begun: set[str] = set()
    for line in _compared(old, new):
        sides = {"-", "+"} if line.mark == " " else {line.mark}
        yield from _indented([line], "  " if sides <= begun else "- ")
        begun |= sides


def _indented(lines: Iterable[_Line], indent: str) -> Iterator[_Line]:
    """Yield the lines with an indent. Empty lines inside a text stay empty."""
    for mark, text in lines:
        yield _Line(mark, indent + text if text else "")


def _dumped(mark: str, value: object) -> Iterator[_Line]:
    for text in yaml_text(value).removesuffix("\n").split("\n"):
        yield _Line(mark, text)
