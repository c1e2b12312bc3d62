"""Strings that many objects of a cluster have in common, kept once."""

from __future__ import annotations

from typing import Final

_MOST: Final = 20_000
"""Strings that a pool keeps."""

_LONGEST: Final = 256
"""Characters of a string that is shared."""


class Pool:
    """Strings seen before. When it is full, it starts over: strings in use stay in use."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def shared(self, text: str) -> str:
        """Return an equal string, the same for equal texts."""
        if len(text) > _LONGEST:
            return text
        if len(self._seen) >= _MOST:
            self._seen.clear()
        return self._seen.setdefault(text, text)
