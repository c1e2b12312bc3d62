"""YAML inside a text of an object, with the positions that its values have in the file."""

from __future__ import annotations

from dataclasses import replace

from webhook.diagnostics import Diagnostic
from webhook.manifests.compose import KUBECTL, Dialect
from webhook.manifests.manifest import Document, Manifest, Origin
from webhook.manifests.stream import documents
from webhook.manifests.text import FILE, AliasMark, Marks, ScalarMark, SourceText
from webhook.policy.verdict import Path

LARGEST = 64 * 1024
"""Characters of the largest text that is read."""


def embedded(
    manifest: Manifest, path: Path, dialect: Dialect = KUBECTL, *, decoded: str | None = None
) -> Document | Diagnostic | None:
    """Return the first document of a text at a path of an object; None for an empty text and for no text.

    A text that is not a literal block (`|`) stands on other lines than it has: all its values are where it begins. So
    are those of the text that it encodes, if that is given; no report shows an excerpt of such a secret.
    """
    text = manifest.at(path) if decoded is None else decoded
    if not isinstance(text, str) or (decoded is None and len(text) > LARGEST):
        return None
    origin = manifest.origin(path)
    found = next(documents(origin.file, text.encode(errors="replace"), dialect=dialect), None)
    mark = origin.mark
    mark = mark.held if isinstance(mark, AliasMark) else mark
    if found is None or not isinstance(mark, ScalarMark):
        return None
    if mark.style == FILE and decoded is None:
        return found
    block = _in_block(origin, mark, dialect)
    if isinstance(found, Diagnostic):
        if isinstance(block, Diagnostic):
            return block
        line, column = origin.position
        return replace(found, line=line, column=column)
    if isinstance(block, Document) and block.value == found.value:
        return block
    outer = origin.document.text
    at = outer.position(mark.start)
    around = SourceText(outer.content[mark.start : mark.end] if decoded is None else "", at.line, at.column - 1)
    marks = Marks(around.content)
    marks.top.inside.append(mark._replace(start=0, end=len(around.content)))
    return Document(origin.document.number, around, found.value, 0, marks, origin.document.is_json)


def _in_block(origin: Origin, mark: ScalarMark, dialect: Dialect) -> Document | Diagnostic | None:
    """Return the document that the lines of a literal block are, indented as they stand in the file.

    JSON is left out: its reader counts lines from 1.
    """
    outer = origin.document.text
    start = outer.content.find("\n", mark.start, mark.end) + 1
    if mark.style != "|" or not start:
        return None
    lines = outer.content[start : mark.end].encode(errors="replace")
    first, number = outer.position(start).line, origin.document.number - 1
    found = next(documents(origin.file, lines, first, number, dialect), None)
    return None if isinstance(found, Document) and found.is_json else found
