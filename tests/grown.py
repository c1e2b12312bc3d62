"""Whether one JSON value has only grown out of another: nothing is gone, and nothing that was there is another."""

from __future__ import annotations

from typing import Any

Steps = tuple[str | int, ...]


def is_grown(before: Any, after: Any) -> bool:
    """Whether all of `before` is in `after`: members stay, lists grow at their end, texts gain entries after a comma.

    A null may become any value, and an empty text the first entry.
    """
    if before is None:
        return True
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            key in after and is_grown(value, after[key]) for key, value in before.items()
        )
    if isinstance(before, list):
        return (
            isinstance(after, list) and len(before) <= len(after) and all(map(is_grown, before, after[: len(before)]))
        )
    if isinstance(before, str):
        return isinstance(after, str) and (after == before or not before or after.startswith(f"{before},"))
    return type(after) is type(before) and bool(after == before)
