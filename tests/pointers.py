"""JSON pointers (RFC 6901) for tests: an own reader, so that they do not lean on the product's."""

from __future__ import annotations

from typing import Any


class NowhereError(Exception):
    """A pointer leads to no node."""


def find(document: Any, pointer: str) -> Any:
    """The node that a pointer leads to; of a pointer to an append the list. Raises NowhereError."""
    if pointer and not pointer.startswith("/"):
        raise NowhereError(pointer)
    node = document
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key == "-":
            continue
        try:
            node = node[int(key)] if isinstance(node, list) else node[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise NowhereError(pointer) from None
    return node


def exists(document: Any, pointer: str) -> bool:
    """Whether a pointer leads to a node."""
    try:
        find(document, pointer)
    except NowhereError:
        return False
    return True
