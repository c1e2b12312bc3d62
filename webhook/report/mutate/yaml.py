"""The edited objects as a stream of YAML documents, which `kubectl apply -f -` reads: the text of the files.

The objects of a document whose text cannot be edited are written as new YAML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from webhook.diagnostics import Diagnostic
from webhook.manifests.stream import BOM, is_json
from webhook.report.data import yaml_text
from webhook.report.lines import counted
from webhook.report.mutation import Destination, Medium, MutationWriter, is_command, is_printable
from webhook.report.rewrite import EditedFile, Mutation, Rewritten, applied, rewrite

_SEPARATOR = "---\n"


class YamlMutations(MutationWriter):
    """Writes the documents of each file that hold objects, with the comments above them."""

    def __init__(self, destination: Destination) -> None:
        self._medium = destination.medium
        self._is_begun = False
        self._is_line_open = False

    def file(self, edited: EditedFile) -> Iterator[str | Diagnostic]:
        data, is_of_json = edited.data, is_json(edited.data)
        renewed: dict[str, list[Mutation]] = {}
        reached = number = 0
        for one in rewrite(data, edited.mutations):
            document = one.mutations[0].manifest.document
            # What is between two documents stays with the second one, unless a third one, which is left out, is there.
            start = reached if document == number + 1 else one.start
            reached, number = one.end, document
            text, reason = ("", "the input is JSON") if is_of_json else self._text(data, start, one)
            if reason:
                renewed.setdefault(reason, []).extend(one.mutations)
            renewal = (yaml_text(mutation.edited()) for mutation in one.mutations)
            yield from self._separated(renewal if reason else (text,))
        for reason, (first, *others) in renewed.items():
            more = f" (and {counted(len(others), 'more object')})" if others else ""
            message = f"{first.subject}{more}: written as new YAML, without comments and layout: {reason}"
            yield replace(first.manifest.diagnostic((), message), errors=0)

    def _separated(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            if self._is_line_open:
                yield "\n"
            if self._is_begun and not piece.startswith("---"):
                yield _SEPARATOR
            yield piece
            self._is_begun = True
            self._is_line_open = not piece.endswith("\n")

    def _text(self, data: bytes, start: int, rewritten: Rewritten) -> tuple[str, str]:
        """Return the text of a document with the edits, and why it cannot be written; one of them is empty."""
        if any(mutation.manifest.path for mutation in rewritten.mutations):
            return "", "the objects of a list become documents"
        if rewritten.reason:
            return "", rewritten.reason
        text = applied(data, rewritten.splices, start, rewritten.end).removeprefix(BOM).decode()
        if self._medium is not Medium.FILE and is_command(text):
            return "", "a CI system would read a line as a command; -o yaml=FILE keeps the text"
        if self._medium is Medium.TERMINAL and not all(map(is_printable, text.split("\n"))):
            return "", "a terminal cannot show a line; redirect the output to a file"
        return text, ""
