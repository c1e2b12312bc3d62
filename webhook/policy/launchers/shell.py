"""The simple commands of a shell script, as far as they are certain to run. It parses only; it runs nothing.

The words of POSIX sh and bash: quotes, escapes, comments, continued lines, redirections, here-documents, lists and
pipelines (POSIX.1-2024, Shell Command Language, 2.2, 2.3, 2.7 and 2.9). Where the shell would expand something, the
word keeps the `$`, so that it never reads as a number. Left out is what may not run: the branches of `if` and `case`,
and what follows `||` or the `&&` of a test. A script that ends within quotes ends before that command.
"""

from __future__ import annotations

import re

_MOST_TOKENS = 2048
"""Tokens of one script that are read: more than a script of 16 KiB has, unless its words are of a few characters."""

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\r]++)
    | (?P<continuation>(?:\\\n)++)
    | (?P<whole>[^\s"'`$\\;&|<>()\#][^\s"'`$\\;&|<>()]*+)[ \t\r](?:[ \t\r]|\\\n)*+
    | (?P<plain>[^\s"'`$\\;&|<>()\#][^\s"'`$\\;&|<>()]*+)
    | (?P<newline>\n)
    | '(?P<single>[^']*+)'
    | "(?P<double>(?:[^"\\$`]|\\.|\$(?!\())*+)"
    | (?P<opening>")
    | \\(?P<escaped>.)
    | (?P<comment>\#[^\n]*+)
    | (?P<substitution>[$<>]\()
    | (?P<backquote>`[^`]*+`)
    | (?P<parameter>\$(?:\{[^}]*+\})?+)
    | (?P<document><<-?(?!<))
    | (?P<redirection>&>>?|<<<|>>|>&|>\||<&|<>|[<>])
    | (?P<operator>\|\||&&|;;|[;&|()])
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r'(?P<text>(?:[^"\\$`]|\\.|\$(?!\())++)|(?P<substitution>\$\()|`[^`]*+`|(?P<end>")', re.DOTALL)
_NESTED = re.compile(r"""[^()'"\\]++|\\.|'[^']*+'|"(?:[^"\\]|\\.)*+"|(?P<parenthesis>[()])|.""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([$`\"\\])|\n)")

_OPENING = frozenset({"if", "case"})
_CLOSING = frozenset({"fi", "esac"})
_RESERVED = frozenset(
    {"then", "else", "elif", "do", "done", "while", "until", "!", "{", "}", "time", *_OPENING, *_CLOSING}
)
_TESTS = frozenset({"[", "[[", "test"})
_UNKNOWN = "$"


def commands(script: str) -> list[list[str]]:
    """The words of each simple command that is certain to run. A command that the end of the text cuts is left out."""
    return _Reader(script).read()


class _Reader:
    """Reads one script from its start to its end. The handler of a kind of token returns True where the text is cut."""

    __slots__ = (
        "_at",
        "_commands",
        "_documents",
        "_left",
        "_may_run",
        "_opened",
        "_target",
        "_text",
        "_word",
        "_words",
    )

    def __init__(self, script: str) -> None:
        self._text = script
        self._at = 0
        self._word: str | None = None
        self._target = ""
        self._words: list[str] = []
        self._documents: list[str] = []
        self._opened = 0
        self._left = _MOST_TOKENS
        self._may_run = False
        self._commands: list[list[str]] = []

    def read(self) -> list[list[str]]:
        """Read all tokens. Stop where the text is no shell, or ends within a word."""
        handlers = {kind: getattr(self, f"_{kind}") for kind in _TOKEN.groupindex}
        while (token := self._next(_TOKEN)) is not None and (kind := token.lastgroup) is not None:
            if handlers[kind](token[kind]):
                return self._commands
        if self._at == len(self._text):
            self._end_command("\n")
        return self._commands

    def _next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The next token; None at the end of the script, where no token starts, and after as many as are read."""
        self._left -= 1
        token = pattern.match(self._text, self._at) if self._left >= 0 else None
        if token is not None:
            self._at = token.end()
        return token

    def _plain(self, text: str) -> None:
        self._word = text if self._word is None else self._word + text

    _single = _escaped = _plain

    def _double(self, text: str) -> None:
        self._plain(_ESCAPE.sub(r"\1", text) if "\\" in text else text)

    def _backquote(self, _: str) -> None:
        self._plain(_UNKNOWN)

    _parameter = _backquote

    def _whole(self, text: str) -> None:
        self._plain(text)
        self._end_word()

    def _blank(self, _: str) -> None:
        self._end_word()

    def _continuation(self, _: str) -> None:
        """Join the lines."""

    def _comment(self, text: str) -> None:
        if self._word is not None:
            self._at -= len(text) - 1
            self._plain("#")

    def _opening(self, _: str) -> bool:
        """Read a text in double quotes that contains substitutions."""
        while (token := self._next(_QUOTED)) is not None:
            if token.lastgroup == "end":
                self._plain("")
                return False
            if token.lastgroup == "text":
                self._double(token[0])
            elif token.lastgroup != "substitution":
                self._plain(_UNKNOWN)
            elif self._substitution(""):
                return True
        return True

    def _substitution(self, _: str) -> bool:
        """Skip to the parenthesis that closes a substitution."""
        depth = 1
        while depth and (token := self._next(_NESTED)) is not None:
            if token.lastgroup is not None:
                depth += 1 if token[0] == "(" else -1
        self._plain(_UNKNOWN)
        return depth > 0

    def _redirection(self, _: str) -> None:
        if self._word is not None and self._word.isdigit():
            self._word = None  # the number of a file descriptor
        self._end_word()
        self._target = "file"

    def _document(self, text: str) -> None:
        self._redirection(text)
        self._target = "document"

    def _operator(self, text: str) -> None:
        self._end_command(text)

    def _newline(self, _: str) -> None:
        self._end_command("\n")
        for delimiter in self._documents:
            self._skip_document(delimiter)
        self._documents.clear()

    def _skip_document(self, delimiter: str) -> None:
        text = self._text
        while self._at < len(text):
            end = text.find("\n", self._at)
            line = text[self._at : end] if end >= 0 else text[self._at :]
            self._at = end + 1 if end >= 0 else len(text)
            if line.lstrip("\t") == delimiter:
                return

    def _end_word(self) -> None:
        if self._word is None:
            return
        if self._target == "document":
            self._documents.append(self._word)
        elif not self._target:
            self._words.append(self._word)
        self._word, self._target = None, ""

    def _end_command(self, operator: str) -> None:
        self._end_word()
        words = self._words
        if not words:
            return
        self._words = []
        start = 0
        while start < len(words) and words[start] in _RESERVED:
            self._opened += (words[start] in _OPENING) - (words[start] in _CLOSING)
            start += 1
        is_test = start < len(words) and words[start] in _TESTS
        if start < len(words) and self._opened <= 0 and not self._may_run:
            self._commands.append(words[start:])
        if operator == "||" or (operator == "&&" and is_test):
            self._may_run = True
        elif operator in (";", "\n", "&"):
            self._may_run = False
