"""The edited objects as a stream of YAML documents, which `kubectl apply -f -` reads: the text of the files.

The objects of a file whose text cannot be edited, or that holds others which are left out, are written as new YAML.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from webhook.diagnostics import Diagnostic
from webhook.manifests.stream import BOM, is_json
from webhook.report.data import yaml_text
from webhook.report.lines import counted
from webhook.report.mutation import Destination, EditedFile, Medium, MutationWriter, is_command, is_printable
from webhook.report.rewrite import applied, rewrite

_SEPARATOR = "---\n"


class YamlMutations(MutationWriter):
    """Writes the documents of each file."""

    def __init__(self, destination: Destination) -> None:
        self._medium = destination.medium
        self._is_begun = False
        self._is_line_open = False

    def file(self, edited: EditedFile) -> Iterator[str | Diagnostic]:
        mutations = edited.mutations
        text, reason = self._text(edited) if edited.is_whole else ("", "what is left out is in the same file")
        for piece in (yaml_text(mutation.edited()) for mutation in mutations) if reason else (text,):
            if self._is_line_open:
                yield "\n"
            if self._is_begun and not piece.startswith("---"):
                yield _SEPARATOR
            yield piece
            self._is_begun = True
            self._is_line_open = not piece.endswith("\n")
        if reason:
            first = mutations[0]
            more = f" (and {counted(len(mutations) - 1, 'more object')})" if len(mutations) > 1 else ""
            message = f"{first.subject}{more}: written as new YAML, without comments and layout: {reason}"
            yield replace(first.manifest.diagnostic((), message), errors=0)

    def _text(self, edited: EditedFile) -> tuple[str, str]:
        """Return the text of a file with the edits, and why it cannot be written; one of them is empty."""
        data = edited.data
        if is_json(data):
            return "", "the input is JSON"
        if any(mutation.manifest.path for mutation in edited.mutations):
            return "", "the objects of a list become documents"
        rewritten = rewrite(data, edited.mutations)
        if rewritten.failures:
            return "", rewritten.failures[0].reason
        text = applied(data, rewritten.splices).removeprefix(BOM).decode()
        if self._medium is not Medium.FILE and is_command(text):
            return "", "a CI system would read a line as a command; -o yaml=FILE keeps the text"
        if self._medium is Medium.TERMINAL and not all(map(is_printable, text.split("\n"))):
            return "", "a terminal cannot show a line; redirect the output to a file"
        return text, ""
