"""Patterns of paths as in .gitignore: those of `--exclude` and of inputs.

The rules are those of gitignore(5) and of git's `wildmatch.c`. Matching takes linear time whatever the names of files
are, since a change chooses them. (With the backtracking expressions of pathspec 1.1, five stars in one line,
`*a*a*a*a*a*b`, take seconds for one file name.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

_FOLDER = r"\x00"
"""Follows the path of a folder while it is matched: no path contains it."""

_ANY = r"[^/\x00]"
_KINDS = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class Patterns:
    """Patterns in order: the last one that matches a path decides about it.

    `above` leads from where the patterns begin to where the paths begin; it ends with a slash unless it is empty.
    """

    def __init__(self, lines: Iterable[str], above: str = "") -> None:
        self._above = above
        rules = [rule for rule in map(_rule, lines) if rule is not None]
        # Neighbours that decide alike form one expression; the last ones are tried first.
        self._groups: tuple[tuple[bool, re.Pattern[str]], ...] = tuple(
            (ignored, re.compile("|".join(expression for _, expression in group)))
            for ignored, group in groupby(reversed(rules), key=lambda rule: rule[0])
        )

    def match(self, path: str, *, folder: bool = False) -> bool | None:
        """Return whether a path is ignored; None where no pattern matches it.

        The path has `/` between its names. What is below an ignored folder is ignored, too, but not matched here.
        """
        subject = f"{self._above}{path}\0" if folder else self._above + path
        for ignored, expression in self._groups:
            if expression.fullmatch(subject):
                return ignored
        return None


def _rule(line: str) -> tuple[bool, str] | None:
    """Return whether a pattern ignores what it matches, and its expression; None for a line that matches nothing."""
    line = _trimmed(line)
    if line.startswith("#"):
        return None
    pattern = line.removeprefix("!")
    only_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    try:
        names = _names(pattern.removeprefix("/"))
    except _NeverMatchesError:
        return None
    if names == [[]]:
        return None
    # A pattern without a slash is about the name alone, at any depth.
    expression = _path(names) if "/" in pattern else rf"(?>(?:[^\x00]*/)?){_name(names[0])}"
    return not line.startswith("!"), expression + (_FOLDER if only_folders else f"{_FOLDER}?")


def _trimmed(line: str) -> str:
    """Return a line without its end and the spaces before it; a backslash keeps one space."""
    line = line.removesuffix("\n").removesuffix("\r")
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return f"{text} " if backslashes % 2 and len(text) < len(line) else text


class _NeverMatchesError(Exception):
    """The pattern is malformed: for git it matches nothing."""


_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<slash>/)|(?P<stars>\*+)|(?P<any>\?)"
    r"|\[(?P<negated>[!^])?+(?P<set>\]?+(?:\\.|\[:[^\]]*:\]|[^\]\\])*+)\]|(?P<character>[^\\\[])",
    re.DOTALL,
)
_MEMBER = re.compile(r"\[:(?P<kind>[^\]]*):\]|\\?(?P<first>.)(?:-\\?(?P<last>.))?", re.DOTALL)


def _names(pattern: str) -> list[list[str]]:
    """Split a pattern into names, each a list of stars (`*` or `**`) and of expressions for one character."""
    names: list[list[str]] = [[]]
    end = 0
    while end < len(pattern):
        token = _TOKEN.match(pattern, end)
        if token is None:
            raise _NeverMatchesError
        end = token.end()
        if token["slash"] or token["escaped"] == "/":
            names.append([])
        elif token["stars"]:
            names[-1].append(token["stars"][:2])
        elif token["any"]:
            names[-1].append(_ANY)
        elif token["set"] is not None:
            names[-1].append(_set(token["set"], negated=token["negated"] is not None))
        else:
            names[-1].append(re.escape(token["escaped"] or token["character"]))
    return names


def _set(members: str, *, negated: bool) -> str:
    """Return the expression for one character of a set such as `a-z`, or for one that is not in it."""
    if not members:
        raise _NeverMatchesError
    written = ""
    for member in _MEMBER.finditer(members):
        kind, first, last = member["kind"], member["first"], member["last"]
        if kind is not None:
            if kind not in _KINDS:
                raise _NeverMatchesError
            written += _KINDS[kind]
        else:
            # git compares with the first character of a range before it reads the rest: `[b-a]` matches b.
            in_order = last is not None and first <= last
            written += f"{re.escape(first)}-{re.escape(last)}" if in_order else re.escape(first)
    return rf"(?![/\x00])[{'^' if negated else ''}{written}]"


def _path(names: list[list[str]]) -> str:
    """Return the expression for a path. `**` stands for any number of folders, and for all paths below at the end."""
    runs: list[list[str]] = [[]]
    for name in names:
        if name == ["**"]:
            runs.append([])
        else:
            runs[-1].append(_name(name))
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *between, last = runs
    expression = f"{'/'.join(first)}/" if first else ""
    # The first place at which the names between two `**` match leaves the most to what follows: no other is tried.
    expression += "".join(f"(?>(?:{_ANY}++/)*?{'/'.join(run)}/)" for run in between if run)
    return expression + (f"(?:{_ANY}++/)*{'/'.join(last)}" if last else r"[^\x00]+")


def _name(name: list[str]) -> str:
    """Return the expression for one name. Stars stand for any characters."""
    chunks = [""]
    for part in name:
        if part in ("*", "**"):
            chunks.append("")
        else:
            chunks[-1] += part
    if len(chunks) == 1:
        return chunks[0]
    first, *between, last = chunks
    # As in `_path`, with characters for names.
    return first + "".join(f"(?>{_ANY}*?{chunk})" for chunk in between if chunk) + f"{_ANY}*{last}"
