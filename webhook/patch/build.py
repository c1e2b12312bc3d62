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
    builder = _Builder(document)
    for edit in edits:
        builder.add(edit)
    return builder.operations


class _Builder:
    __slots__ = ("document", "extended", "made", "operations")

    def __init__(self, document: Any) -> None:
        self.document = document
        self.operations: list[Operation] = []
        self.made: dict[Path, Any] = {}
        self.extended: dict[Path, Operation] = {}

    def add(self, edit: Edit) -> None:
        """Make one edit, from the first missing part of its path on."""
        path = edit.path
        node = self.document
        for depth, step in enumerate(path, 1):
            node = node[step] if isinstance(step, int) else node.get(step)
            if node is None:
                self._make(path[:depth], path[depth:], edit)
                return
        if isinstance(edit, Append):
            self.operations.append({"op": "add", "path": pointer(path) + "/-", "value": edit.value})
        else:
            self._extend(path, node, edit.value)

    def _extend(self, path: Path, existing: Any, value: Any) -> None:
        """Extend the existing text, or the text that an earlier edit added."""
        if path in self.extended:
            self.extended[path]["value"] += f",{value}"
            return
        operation = {"op": "add", "path": pointer(path), "value": f"{existing},{value}" if existing else value}
        self.extended[path] = operation
        self.operations.append(operation)

    def _make(self, missing: Path, rest: Path, edit: Edit) -> None:
        """Add the missing part, or merge the edit into the value that an earlier one added there."""
        if missing in self.made:
            self._put(self.made[missing], rest, edit)
        elif not rest and isinstance(edit, Extend):
            self._extend(missing, None, edit.value)
        else:
            value: Any = [edit.value] if isinstance(edit, Append) else edit.value
            for step in reversed(rest):
                value = {step: value}
            self.made[missing] = value
            self.operations.append({"op": "add", "path": pointer(missing), "value": value})

    def _put(self, made: Any, rest: Path, edit: Edit) -> None:
        for step in rest[:-1]:
            made = made.setdefault(step, {})
        if isinstance(edit, Append):
            (made.setdefault(rest[-1], []) if rest else made).append(edit.value)
        elif isinstance(edit, Extend) and rest[-1] in made:
            made[rest[-1]] += f",{edit.value}"
        else:
            made[rest[-1]] = edit.value


def pointer(path: Path) -> str:
    """The pointer of a path."""
    return "".join([f"/{escape(step)}" if isinstance(step, str) else f"/{step}" for step in path])


def escape(key: str) -> str:
    """A key as a token of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
