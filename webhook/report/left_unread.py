"""The files and folders that a run leaves unread, by reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

from webhook.diagnostics import Unread
from webhook.report.counted import counted


class LeftUnread:
    """Counts unread files and folders by reason. `hiding` is the number of those that may hold an object."""

    __slots__ = ("_files", "_folders", "hiding")

    def __init__(self) -> None:
        self._files: Counter[str] = Counter()
        self._folders: Counter[str] = Counter()
        self.hiding = 0

    def add(self, entry: Unread) -> None:
        """Count a file, or a folder as a whole."""
        counts = self._folders if entry.file.endswith("/") else self._files
        counts[entry.reason] += 1
        self.hiding += entry.may_hide

    def __bool__(self) -> bool:
        return bool(self._files or self._folders)

    def data(self) -> dict[str, Any]:
        return {"files": self._files.total(), "folders": self._folders.total(), "reasons": dict(self._reasons())}

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self._reasons())
        return f"{_things(self._files.total(), self._folders.total())} not read ({reasons})"

    def lines(self) -> list[str]:
        """Return a line for each reason, the most frequent first."""
        return [
            f"{_things(self._files[reason], self._folders[reason])} not read: {reason}" for reason, _ in self._reasons()
        ]

    def _reasons(self) -> list[tuple[str, int]]:
        return (self._files + self._folders).most_common()


def _things(files: int, folders: int) -> str:
    numbers = ((files, "file"), (folders, "folder"))
    return " and ".join(counted(number, thing) for number, thing in numbers if number)
