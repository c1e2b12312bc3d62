"""The positions of the values of a document in plain block style, which `blocks` can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webhook.manifests.block_lines import CONTENT, Place, places
from webhook.manifests.position import STEP, Spot


def spots(content: str) -> Iterator[Spot]:
    """Yield the spot of the mapping of a document as it grows, and at the end as a whole."""
    # The open mappings and lists with their columns, and the entry whose value is still to come. As in `blocks`, the
    # root is the value of the only key of an artificial mapping.
    document: dict[str, Spot] = {}
    blocks: list[tuple[int, Any]] = [(-1, document)]
    due: Place | None = Place(-1, "", 0, 0, is_due=True)
    for number, place in enumerate(_places(content), 1):
        column, block = blocks[-1]
        if due is not None and (place.column > column or (place.column == column and _is_item_of_key(place, due))):
            inner: Any = [] if place.key is None else {}
            block[-1 if due.key is None else due.key] = (place.offset, inner)
            blocks.append((place.column, inner))
        while place.column < blocks[-1][0]:
            blocks.pop()
        if place.key is not None and isinstance(blocks[-1][1], list):
            blocks.pop()
        if number % STEP == 0:
            yield document[""]  # the entry before is complete, now that this one is known
        block = blocks[-1][1]
        if place.key is None:
            block.append(place.spot)
        else:
            block[place.key] = place.spot
        due = place if place.is_due else None
    yield document[""]


def _is_item_of_key(place: Place, due: Place) -> bool:
    """Return whether an entry is an item and the entry before it a key. In the same column, a key holds only items."""
    return place.key is None and due.key is not None


def _places(content: str) -> Iterator[Place]:
    for line in CONTENT.finditer(content):
        yield from places(line[0], line.start())
