"""The proof: operations apply to the received object, and overwrite nothing in it.

The API server rejects a pod whose patch does not apply, whatever the failure policy (kubernetes/kubernetes#129459).
The proof reads the pointers that will be sent and shares no code with the builder. It is stricter than RFC 6902:
each operation must add to a mapping or list of the received object itself, so their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def verify(document: Any, operations: Sequence[dict[str, Any]]) -> str | None:
    """Why the operations must not be sent, or None if they are sound."""
    parents: dict[str, Any] = {"": document}
    filled: set[str] = set()
    for operation in operations:
        path = operation["path"]
        if operation["op"] != "add" or len(operation) != 3 or "value" not in operation:
            return f"{path}: not an addition"
        above, slash, last = path.rpartition("/")
        if not slash:
            return f"{path}: not a pointer into the object"
        parent = parents.get(above)
        if parent is None:
            parent = parents[above] = resolve(document, above)
        if isinstance(parent, list):
            if last != "-":
                return f"{path}: not an append"
        elif isinstance(parent, dict):
            wrong = _member(parent, last, operation["value"])
            if wrong is not None or path in filled:
                return f"{path}: {wrong or 'added twice'}"
            filled.add(path)
        else:
            return f"{path}: has no parent"
    return None


def _member(parent: dict[str, Any], token: str, value: Any) -> str | None:
    """Why a member must not get the value. Only an absent or null member may, and a list of names may grow."""
    key = unescaped(token) if "~" in token else token
    if key is None:
        return "not a pointer"
    existing = parent.get(key)
    if existing is None:
        return None
    grows = (
        isinstance(existing, str) and isinstance(value, str) and value.startswith(f"{existing}," if existing else "")
    )
    return None if grows else "has a value"


def resolve(document: Any, path: str) -> Any:
    """The value at a pointer; None if there is none."""
    first, *tokens = path.split("/")
    node = document if not first else None
    for token in tokens:
        if isinstance(node, dict):
            node = node.get(unescaped(token) if "~" in token else token)
        elif isinstance(node, list):
            node = node[int(token)] if _INDEX.fullmatch(token) and int(token) < len(node) else None
        else:
            return None
    return node


_INDEX = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_ESCAPED = re.compile(r"(?:[^~]|~[01])*", re.DOTALL)


def unescaped(token: str) -> str | None:
    """The key for a token with escapes; None if an escape is invalid."""
    return token.replace("~1", "/").replace("~0", "~") if _ESCAPED.fullmatch(token) else None
