"""YAML inside a text of an object, such as a file in a ConfigMap, with the positions of its values in the file."""

from __future__ import annotations

from dataclasses import replace

from webhook.diagnostics import Diagnostic
from webhook.manifests.manifest import Document, Manifest
from webhook.manifests.stream import documents
from webhook.manifests.text import AliasMark, Marks, ScalarMark, SourceText
from webhook.policy.verdict import Path

LARGEST = 64 * 1024
"""Characters of the largest text that is read."""


def embedded(manifest: Manifest, path: Path) -> Document | Diagnostic | None:
    """Return the first document of a text at a path of an object; None for an empty text and for no text.

    A text that is not a literal block (`|`) stands on other lines than it has: all its values are where it begins.
    """
    text = manifest.at(path)
    if not isinstance(text, str) or len(text) > LARGEST:
        return None
    found = next(documents(manifest.file, text.encode(errors="replace")), None)
    mark = _scalar(manifest, path)
    if found is None or mark is None:
        return None
    block = _in_block(manifest, mark)
    if isinstance(found, Diagnostic):
        if isinstance(block, Diagnostic):
            return block
        line, column = manifest.locate(path)
        return replace(found, line=line, column=column)
    if isinstance(block, Document) and block.value == found.value:
        return block
    outer = manifest.within.text
    at = outer.position(mark.start)
    around = SourceText(outer.content[mark.start : mark.end], at.line, at.column - 1)
    marks = Marks(around.content)
    marks.top.inside.append(mark._replace(start=0, end=mark.end - mark.start))
    return Document(manifest.document, around, found.value, 0, marks, manifest.within.is_json)


def _scalar(manifest: Manifest, path: Path) -> ScalarMark | None:
    mark = manifest.within.mark(manifest.path + path)
    held = mark.held if isinstance(mark, AliasMark) else mark
    return held if isinstance(held, ScalarMark) else None


def _in_block(manifest: Manifest, mark: ScalarMark) -> Document | Diagnostic | None:
    """Return the document that the lines of a literal block are, indented as they stand in the file.

    JSON is left out: its reader counts lines from 1.
    """
    outer = manifest.within.text
    start = outer.content.find("\n", mark.start, mark.end) + 1
    if mark.style != "|" or not start:
        return None
    lines = outer.content[start : mark.end].encode(errors="replace")
    found = next(documents(manifest.file, lines, outer.position(start).line, manifest.document - 1), None)
    return None if isinstance(found, Document) and found.is_json else found
