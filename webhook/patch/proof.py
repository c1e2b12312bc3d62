"""The proof: operations apply to the received object, and overwrite nothing in it.

The API server refuses a pod whose patch does not apply, whatever the failure policy (kubernetes/kubernetes#129459).
The proof reads the pointers that will be sent and shares no code with the builder. It is stricter than RFC 6902:
each operation adds to a mapping or list of the received object itself, so their order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def flaw(document: Any, operations: Sequence[dict[str, Any]]) -> str | None:
    """Why the operations must not be sent, or None when they are sound."""
    parents: dict[str, Any] = {"": document}
    filled: set[str] = set()
    for operation in operations:
        path = operation["path"]
        if operation["op"] != "add" or len(operation) != 3:
            return f"{path}: not an addition"
        above, _, last = path.rpartition("/")
        parent = parents.get(above)
        if parent is None:
            parent = parents[above] = _resolve(document, above)
        if isinstance(parent, list):
            if last != "-":
                return f"{path}: not an append"
        elif isinstance(parent, dict):
            there = parent.get(_key(last))
            if path in filled:
                return f"{path}: added twice"
            if there is not None and not _extends(there, operation["value"]):
                return f"{path}: has a value"
            filled.add(path)
        else:
            return f"{path}: has no parent"
    return None


def _resolve(document: Any, path: str) -> Any:
    node = document
    for token in path.split("/")[1:]:
        if isinstance(node, dict):
            node = node.get(_key(token))
        elif isinstance(node, list):
            node = node[int(token)] if token.isdecimal() and int(token) < len(node) else None
        else:
            return None
    return node


def _key(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def _extends(there: Any, value: Any) -> bool:
    return isinstance(there, str) and isinstance(value, str) and value.startswith(there)
