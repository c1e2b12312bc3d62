"""The edited objects as a stream of YAML documents, which `kubectl apply -f -` reads: the text of the files.

A document that holds one object keeps its text, apart from the edits. Objects whose text cannot be edited, and those of
lists and of JSON, are written as new YAML. A document without an object to write is left out, unless it is comments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests import documents
from webhook.manifests.stream import BOM, is_json
from webhook.report.data import yaml_text
from webhook.report.lines import counted
from webhook.report.mutation import Destination, FileWriter, Medium, Mutation, is_command, is_printable
from webhook.report.rewrite import Splice, applied, rewrite

_SEPARATOR = "---\n"
_LINE = b"\n---"


class YamlMutations(FileWriter):
    """Writes the documents of a file after its last object."""

    def __init__(self, destination: Destination) -> None:
        super().__init__()
        self._medium = destination.medium
        self._is_begun = False
        self._is_line_open = False

    def file(self, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:
        refused: list[tuple[Mutation, str]] = []
        for piece in self._documents(data, mutations, refused):
            if self._is_line_open:
                yield "\n"
            if self._is_begun and not piece.startswith("---"):
                yield _SEPARATOR
            yield piece
            self._is_begun = True
            self._is_line_open = not piece.endswith("\n")
        if refused:
            mutation, reason = refused[0]
            more = f" (and {counted(len(refused) - 1, 'more object')})" if len(refused) > 1 else ""
            message = f"{mutation.subject}{more}: written as new YAML, without comments and layout: {reason}"
            yield replace(mutation.manifest.diagnostic((), message), errors=0)

    def _documents(
        self, data: bytes, mutations: Sequence[Mutation], refused: list[tuple[Mutation, str]]
    ) -> Iterator[str]:
        """Yield the documents of a file. `refused` gets the objects that are written as new YAML, and why."""
        if is_json(data):
            for mutation in mutations:
                refused.append((mutation, "the input is JSON"))
                yield yaml_text(mutation.edited())
            return
        by_line = defaultdict(list)
        for mutation in mutations:
            by_line[mutation.manifest.within.text.first_line].append(mutation)
        rewritten = rewrite(data, [mutation for mutation in mutations if not mutation.manifest.path])
        failures = {failure.mutation.manifest.within.text.first_line: failure.reason for failure in rewritten.failures}
        splices = iter((*rewritten.splices, Splice(len(data) + 1, len(data) + 1, b"")))
        splice = next(splices)
        for chunk in _chunks(data):
            own = []
            while splice.start <= chunk.end:  # at the end: a line below the last one
                own.append(splice)
                splice = next(splices)
            objects = by_line.get(chunk.first_line, ())
            if not objects and next(documents("", data[chunk.start : chunk.end]), None) is not None:
                continue  # denied, or no object
            text = applied(data, own, chunk.start, chunk.end).decode()
            reason = failures.get(chunk.first_line, "") or self._reason(text, objects)
            if not reason:
                yield text
                continue
            for mutation in objects:
                refused.append((mutation, reason))
                yield yaml_text(mutation.edited())

    def _reason(self, text: str, objects: Sequence[Mutation]) -> str:
        """Return why a document cannot be written as its text; empty if it can be."""
        if any(mutation.manifest.path for mutation in objects):
            return "the objects of a list become documents"
        if self._medium is not Medium.FILE and is_command(text):
            return "a CI system would read a line as a command; -o yaml=FILE keeps the text"
        if self._medium is Medium.TERMINAL and not all(map(is_printable, text.split("\n"))):
            return "a terminal cannot show a line; redirect the output to a file"
        return ""


class _Chunk(NamedTuple):
    """The bytes of a file from one `---` line to the next. `first_line` is the line below the first one of these.

    The chunk above the first `---` line begins with line 1.
    """

    start: int
    end: int
    first_line: int


def _chunks(data: bytes) -> Iterator[_Chunk]:
    """Yield the chunks that hold a text, without the byte order mark."""
    start = len(BOM) if data.startswith(BOM) else 0
    line = 1
    if data.startswith(_LINE[1:], start):
        line = 2
    while start < len(data):
        end = data.find(_LINE, start) + 1 or len(data)
        yield _Chunk(start, end, line)
        line += data.count(b"\n", start, end) + (line == 1)
        start = end
