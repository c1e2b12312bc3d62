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
from webhook.report.file_writer import FileWriter, is_command, is_printable
from webhook.report.lines import counted
from webhook.report.mutation_writer import Destination, Medium, Mutation
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

    def file(self, file: str, data: bytes, mutations: Sequence[Mutation]) -> Iterator[str | Diagnostic]:  # noqa: ARG002
        refused: list[tuple[Mutation, str]] = []
        for piece in self._json(mutations, refused) if is_json(data) else self._yaml(data, mutations, refused):
            yield self._joined(piece)
        if refused:
            yield _note(*refused[0], further=len(refused) - 1)

    def _json(self, mutations: Sequence[Mutation], refused: list[tuple[Mutation, str]]) -> Iterator[str]:
        for one in mutations:
            refused.append((one, "the input is JSON"))
            yield yaml_text(one.edited())

    def _yaml(self, data: bytes, mutations: Sequence[Mutation], refused: list[tuple[Mutation, str]]) -> Iterator[str]:
        """Yield the documents of a file. `refused` gets the objects that are written as new YAML, and why."""
        held = defaultdict(list)
        for one in mutations:
            held[one.manifest.within.text.first_line].append(one)
        rewritten = rewrite(data, [one for one in mutations if not one.manifest.path])
        failures = {one.mutation.manifest.within.text.first_line: one.reason for one in rewritten.failures}
        splices = iter((*rewritten.splices, Splice(len(data) + 1, len(data) + 1, b"")))
        splice = next(splices)
        for chunk in _chunks(data):
            own = []
            while splice.start <= chunk.end:  # at the end: a line below the last one
                own.append(splice)
                splice = next(splices)
            objects = held.get(chunk.first_line, ())
            if not objects and next(documents("", data[chunk.start : chunk.end]), None) is not None:
                continue  # denied, or no object
            text = applied(data, own, chunk.start, chunk.end).decode()
            reason = failures.get(chunk.first_line, "") or self._reason(text, objects)
            if not reason:
                yield text
                continue
            for one in objects:
                refused.append((one, reason))
                yield yaml_text(one.edited())

    def _reason(self, text: str, objects: Sequence[Mutation]) -> str:
        """Return why a document cannot be written as its text; empty if it can be."""
        if any(one.manifest.path for one in objects):
            return "the objects of a list become documents"
        if self._medium is not Medium.FILE and is_command(text):
            return "a CI system would read a line as a command; -o yaml=FILE keeps the text"
        if self._medium is Medium.TERMINAL and not all(map(is_printable, text.split("\n"))):
            return "a terminal cannot show a line; redirect the output to a file"
        return ""

    def _joined(self, piece: str) -> str:
        """Return a document with what separates it from the one before."""
        if self._is_begun and not piece.startswith("---"):
            piece = _SEPARATOR + piece
        if self._is_line_open:
            piece = "\n" + piece
        self._is_begun = self._is_begun or bool(piece)
        self._is_line_open = not piece.endswith("\n")
        return piece


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


def _note(mutation: Mutation, reason: str, further: int) -> Diagnostic:
    """Return the note about an object that is written as new YAML. It counts the others of the file."""
    more = f" (and {counted(further, 'more object')})" if further else ""
    message = f"{mutation.subject}{more}: written as new YAML, without comments and layout: {reason}"
    return replace(mutation.manifest.diagnostic((), message), errors=0)
