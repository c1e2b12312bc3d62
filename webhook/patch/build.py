"""The builder: minimal operations for edits, which create absent parents.

It uses only `add`, which replaces a member that is null and appends at a list's `-` (RFC 6902, 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.policy.verdict import Append, Edit, Extend, Path

Operation = dict[str, Any]
"""One operation, in the form of its JSON."""


def build(document: Any, edits: Sequence[Edit]) -> list[Operation]:
    """The operations that make the edits on a document, in the order of the edits."""
    operations: list[Operation] = []
    added: dict[Path, Operation] = {}
    for edit in edits:
        node, depth = document, 0
        for step in edit.path:
            depth += 1
            node = node[step] if isinstance(step, int) else node.get(step)
            if node is None:
                break
        if node is not None and isinstance(edit, Append):
            operations.append({"op": "add", "path": pointer(edit.path) + "/-", "value": edit.value})
            continue
        place = edit.path[:depth]
        if place not in added:
            added[place] = {"op": "add", "path": pointer(place)}
            operations.append(added[place])
            if node:
                added[place]["value"] = node
        _put(added[place], edit.path[depth:], edit)
    return operations


def _put(operation: Operation, rest: Path, edit: Edit) -> None:
    """Merge an edit into the value that an operation adds, at the rest of its path."""
    holder: dict[Any, Any] = operation
    key: str | int = "value"
    for step in rest:
        holder, key = holder.setdefault(key, {}), step
    if isinstance(edit, Append):
        holder.setdefault(key, []).append(edit.value)
    elif isinstance(edit, Extend) and key in holder:
        holder[key] += f",{edit.value}"
    else:
        holder[key] = edit.value


def pointer(path: Path) -> str:
    """The pointer of a path."""
    return "".join(
        [f"/{step.replace('~', '~0').replace('/', '~1') if isinstance(step, str) else step}" for step in path]
    )
