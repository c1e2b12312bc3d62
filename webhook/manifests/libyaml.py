"""The problems of libyaml in words of manifest authors."""

from __future__ import annotations

from typing import Any

from yaml import YAMLError
from yaml.reader import ReaderError

from webhook.manifests.errors import UnreadableError, quoted
from webhook.manifests.position import SourceText
from webhook.policy.printable import printable

_LONGEST_PROBLEM = 200

_TAB = "tab used for indentation; indent YAML with spaces"

# Problems of libyaml and their meaning for the author. {line} is the line where the unreadable construct begins.
# Another version of libyaml may word them differently: its own words are shown then.
_PROBLEMS = {
    "mapping values are not allowed in this context": 'unexpected ":"; put text that holds ": " in quotes, '
    "or check the indentation",
    "could not find expected ':'": 'expected ":" after the key that begins here',
    "did not find expected key": "expected a key of the mapping that begins on line {line}; "
    "check indentation and quotes",
    "did not find expected '-' indicator": 'expected "- ", as in the list that begins on line {line}; '
    "check the indentation",
    "did not find expected ',' or ']'": 'expected "," or "]" in the list that begins on line {line}',
    "did not find expected ',' or '}'": 'expected "," or "}" in the mapping that begins on line {line}',
    "did not find expected node content": "expected a value here",
    "did not find expected <document start>": "unexpected text after the end of the document",
    "found unexpected end of stream": "the quote that opens here is never closed",
    "found unexpected document indicator": "the quote that opens here is not closed before the document ends",
    "block sequence entries are not allowed in this context": '"- " cannot stand here; check the indentation',
    "block mapping entries are not allowed in this context": "a key cannot stand here; check the indentation",
    "mapping keys are not allowed in this context": "a key cannot stand here; check the indentation",
    "found unknown escape character": "unknown escape in double quotes; use single quotes to keep a backslash",
    "found invalid Unicode character escape code": "this escape is not a character",
    "found undefined tag handle": "the tag uses a handle that is not defined",
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
}
# libyaml marks where it noticed these; the author needs the place where the construct begins.
_AT_BEGIN = frozenset(
    ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")
)


def unreadable_yaml(error: YAMLError, text: SourceText) -> UnreadableError:
    """Return the error for a problem that libyaml found."""
    if isinstance(error, ReaderError):
        return _unreadable_character(text)
    problem: str = getattr(error, "problem", None) or "not YAML"
    mark: Any = getattr(error, "problem_mark", None)
    begin: Any = getattr(error, "context_mark", None)
    offset = mark.index if mark is not None else 0
    if problem in _AT_BEGIN and begin is not None:
        offset = begin.index
    if problem == "did not find expected <document start>" and text.content.lstrip().startswith("%"):
        return UnreadableError("directives (%YAML, %TAG) cannot be read by kubectl; remove the line", 0)
    if problem == "found character that cannot start any token":
        return UnreadableError(_no_token(text.content[offset : offset + 1]), offset)
    line = text.line(begin.index if begin is not None else offset)
    message = _PROBLEMS.get(problem) or printable(problem, _LONGEST_PROBLEM)
    return UnreadableError(message.replace("{line}", str(line)), offset)


def _no_token(character: str) -> str:
    if character == "\t":
        return _TAB
    return f"a value cannot start with {quoted(character)}; put it in quotes"


def _unreadable_character(text: SourceText) -> UnreadableError:
    """Return the error for the first character that libyaml rejects: libyaml's own offset counts bytes."""
    for offset, character in enumerate(text.content):
        if not (character.isprintable() or _allowed(ord(character))):
            return UnreadableError(f"control character U+{ord(character):04X}; YAML does not allow it", offset)
    return UnreadableError("a character that YAML does not allow", 0)


def _allowed(code: int) -> bool:
    """Return whether YAML 1.1 allows a character in a stream."""
    return (
        code in _BLANKS or 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code > 0xFFFF
    )


_BLANKS = frozenset((0x09, 0x0A, 0x0D, 0x85))
