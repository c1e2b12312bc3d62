"""What is wrong with a text, in the reader's words rather than the parser's."""

from __future__ import annotations

from typing import Any

from yaml import YAMLError
from yaml.reader import ReaderError

from webhook.manifests.position import Text, UnreadableError
from webhook.policy.printable import printable

# Far more than any Kubernetes object needs, and far less than what a recursive reader of the values can stand.
DEEPEST = 256
_LONGEST_QUOTE = 48
TOO_DEEP = f"nested deeper than {DEEPEST} levels"

_TAB = "tab used for indentation; YAML wants spaces"

# libyaml's problems, and what they mean to the author. {line} is where the thing began that could not be read.
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
# These say where they noticed; the author wants to know where it began.
_AT_BEGIN = frozenset(
    ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")
)


def quoted(text: str) -> str:
    """Return text of a file as a message may hold it: in quotes, short, and sanitised."""
    return f'"{printable(text, _LONGEST_QUOTE)}"'


def given_twice(key: str, first_line: int, offset: int) -> UnreadableError:
    """Return the fault of a mapping key that stands twice."""
    return UnreadableError(f"mapping key {quoted(key)} is given twice, first on line {first_line}", offset)


def unreadable_yaml(error: YAMLError, text: Text) -> UnreadableError:
    """Return what libyaml found, at its place."""
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
    return UnreadableError(_PROBLEMS.get(problem, problem).replace("{line}", str(line)), offset)


def _no_token(character: str) -> str:
    if character == "\t":
        return _TAB
    return f"a value cannot start with {quoted(character)}; put it in quotes"


def _unreadable_character(text: Text) -> UnreadableError:
    """Return the first character that libyaml refuses: it counts bytes, and stops ahead of where it parses."""
    for offset, character in enumerate(text.content):
        if not (character.isprintable() or _allowed(ord(character))):
            return UnreadableError(f"control character U+{ord(character):04X}; YAML does not allow it", offset)
    return UnreadableError("a character that YAML does not allow", 0)


def _allowed(code: int) -> bool:
    """Tell whether YAML 1.1 allows a character in a stream."""
    return (
        code in _BLANKS or 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code > 0xFFFF
    )


_BLANKS = frozenset((0x09, 0x0A, 0x0D, 0x85))
