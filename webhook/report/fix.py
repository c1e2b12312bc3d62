"""The fix of a finding as edits of the text of its file."""

from __future__ import annotations

import re

from webhook.manifests import Manifest
from webhook.manifests.scalars import plain
from webhook.policy.verdict import Replacement
from webhook.report.model import TextEdit

_PLAIN = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._/-]*")
"""Text that needs no quotes in YAML, in brackets either, unless it has a meaning other than text."""


def text_edits(manifest: Manifest, fix: tuple[Replacement, ...]) -> tuple[TextEdit, ...]:
    """Return the edits of a fix, all or none: none if a value is not a scalar of one line, or may be shared.

    What Helm has rendered has none: the next rendering would undo them.
    """
    edits: list[TextEdit] = []
    for path, value in fix if fix and not manifest.source else ():
        found = manifest.only_scalar(path)
        if found is None:
            return ()
        (line, column), text = found
        edits.append(TextEdit(path, line, column, len(text), spelled(value, text), value))
    return tuple(edits)


def spelled(value: str | int, instead_of: str) -> str:
    """Return a value as YAML and JSON spell it, in the quotes of the scalar that it replaces if it may have them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if instead_of.startswith("'") and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if not isinstance(value, int) and _PLAIN.fullmatch(text) is None:
        import json  # most values need no escapes

        return json.dumps(text)
    is_quoted = instead_of.startswith(('"', "'")) or not (isinstance(value, int) or isinstance(plain(text), str))
    return f'"{text}"' if is_quoted else text
