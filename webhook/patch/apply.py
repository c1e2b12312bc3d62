"""Operations made on a document, for one that `verify` has proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.patch.proof import resolve, unescaped


def apply(document: Any, operations: Sequence[dict[str, Any]]) -> None:
    """Make proven operations on a document, in place. Each adds to a mapping or list that the document holds."""
    for operation in operations:
        above, _, last = operation["path"].rpartition("/")
        parent = resolve(document, above)
        if isinstance(parent, list):
            parent.append(operation["value"])
        else:
            parent[unescaped(last)] = operation["value"]
