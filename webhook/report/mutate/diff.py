"""The edits as a unified diff of each file, which `git apply` and `patch -p1` accept.

The lines are those of the file, byte for byte. A line that would be a command for a CI system or for a terminal keeps
the diff from being written there: with an escape it would not apply.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from webhook.diagnostics import Diagnostic
from webhook.manifests import STDIN
from webhook.policy.printable import COMMAND_ANYWHERE
from webhook.report.mutation import Mutation
from webhook.report.mutation_writer import Destination, Reader
from webhook.report.rewrite import rewrite
from webhook.report.unified import NO_NEWLINE, Line, unified

_COLOURS = {"@": "cyan", "-": "red", "+": "green"}
# A command counts after a carriage return as well, which is a line break to the runner of GitHub Actions.
_COMMAND = re.compile(rf"{COMMAND_ANYWHERE.pattern}|(?:^|\r)[^\S\r]*::", re.ASCII)
_QUOTED = re.compile(rb'[^\x20-\x7e]|["\\]|#(?=#\w*\[)')


class DiffWriter:
    """Writes the diff of a file after its last object."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._pending: list[Mutation] = []
        self._written: set[str] = set()

    def add(self, mutation: Mutation) -> Iterator[str | Diagnostic]:
        """Keep the edits of an object; yield the diff of the file before."""
        if self._pending and mutation.manifest.within.raw is not self._pending[0].manifest.within.raw:
            yield from self.end()
        if mutation.operations:
            self._pending.append(mutation)

    def end(self) -> Iterator[str | Diagnostic]:
        """Yield the diff of the last file, and a diagnostic for each object whose edits it lacks."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        file = pending[0].manifest.file
        path = _path(file, self._destination.folder)
        if path in self._written:
            return  # the same diff would not apply twice
        self._written.add(path)
        data = pending[0].manifest.within.raw
        rewritten = rewrite(data, pending)
        yield from rewritten.failures
        lines = list(unified(data, rewritten.splices))
        problem = next(self._problems(file, lines), None)
        if problem is not None:
            yield problem
        elif lines:
            yield self._text(path, lines)

    def _problems(self, file: str, lines: list[Line]) -> Iterator[Diagnostic]:
        """Yield what keeps the lines from being written to the destination."""
        for line in lines:
            try:
                text = line.content.decode()
            except UnicodeDecodeError:
                yield Diagnostic(file, line.number, 1, "no diff: this line is not UTF-8 text")
                continue
            if self._destination.reader is not Reader.FILE and _COMMAND.search(line.mark + text):
                reason = "no diff here: a CI system would read this line as a command; use -o diff=FILE"
                yield Diagnostic(file, line.number, 1, reason)
            elif self._destination.reader is Reader.TERMINAL and not _is_printable(text):
                reason = (
                    "no diff on a terminal: a character of this line is not printable; redirect the output to a file"
                )
                yield Diagnostic(file, line.number, 1, reason)

    def _text(self, path: str, lines: list[Line]) -> str:
        paint = self._destination.paint
        pieces = [paint(f"--- {_name('a', path)}", "red"), "\n", paint(f"+++ {_name('b', path)}", "green"), "\n"]
        for line in lines:
            text = line.content.decode()
            mark = "" if line.mark == "@" else line.mark
            body = text.rstrip("\r\n")
            shown = mark + body
            pieces += [paint(shown, _COLOURS[line.mark]) if line.mark in _COLOURS else shown, text[len(body) :]]
            if not text.endswith("\n"):
                pieces.append(f"\n{NO_NEWLINE}\n")
        return "".join(pieces)


def _is_printable(text: str) -> bool:
    return text.rstrip("\r\n").replace("\t", "").removeprefix("\ufeff").isprintable()


def _path(file: str, folder: str) -> str:
    """Return the path that a diff names: below the folder where possible, else from the root."""
    if file == STDIN:
        return "stdin"
    absolute = posixpath.normpath(posixpath.join(folder, file))
    below = posixpath.relpath(absolute, folder)
    return absolute.lstrip("/") if below.startswith("../") else below


def _name(side: str, path: str) -> str:
    """Return a name for the head of a diff as git writes it: in quotes with escapes, or with a tab after blanks."""
    name = f"{side}/{path}".encode()
    if _QUOTED.search(name):
        return '"' + _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], name).decode() + '"'
    return name.decode() + ("\t" if b" " in name else "")
