"""Names of files as the services see them that show reports: relative to the root of the repository."""

from __future__ import annotations

from posixpath import isabs, join, normpath
from typing import NamedTuple


class SourceTree(NamedTuple):
    """The root of the repository, and the working directory in it. Both are absolute paths, or empty if unknown."""

    root: str = ""
    working: str = ""

    def relative(self, file: str) -> str:
        """Return the name of a file relative to the root; the absolute name of a file outside it."""
        if file.startswith("<"):
            return file
        path = normpath(file if isabs(file) else join(self.working, file))
        return path.removeprefix(f"{self.root.rstrip('/')}/") if self.root else path


ANYWHERE = SourceTree()
"""An unknown repository: names stay as they are given."""
