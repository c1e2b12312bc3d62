"""The file of a baseline in a run, which reads it or writes it."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path, PurePath

from webhook.cli.outputs import destinations
from webhook.cli.screen import tell
from webhook.dryrun.files import content, parse
from webhook.manifests import STDIN
from webhook.report.baseline import BaselineUse, Recorded
from webhook.report.baseline_content import load
from webhook.report.model import Entry, Result
from webhook.report.tally import Tally


class ReadBaseline:
    """Suppresses the findings of a baseline, and names its entries that no longer occur."""

    def __init__(self, file: str) -> None:
        self._file, data = content(file)
        self._names = _Names(file)
        self._baseline = parse(self._file, data, load)
        self._unreadable: set[str] = set()

    def suppress(self, entry: Entry) -> Entry:
        """Return the entry without the findings that the baseline holds."""
        if isinstance(entry, Result):
            return self._baseline.suppress(self._names.of(entry.file), entry)
        self._unreadable.add(self._names.of(entry.file))
        return entry

    def end(self, tally: Tally) -> None:
        """Add the entries that no longer occur to the tally."""
        stale = self._baseline.stale(tally.selection, self._unreadable, self._names.is_gone)
        tally.baseline = BaselineUse(self._file, stale=stale)


class WrittenBaseline:
    """Suppresses all findings, and writes them to a baseline unless the run has errors."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._names = _Names(file)
        self._recorded = Recorded()

    def suppress(self, entry: Entry) -> Entry:
        """Record the findings of the entry, and return it without them."""
        return self._recorded.suppress(self._names.of(entry.file), entry) if isinstance(entry, Result) else entry

    def end(self, tally: Tally) -> None:
        """Write the baseline. Raises InputError if it cannot be written."""
        if tally.errors:
            tell(f"{self._file}: not written: the inputs with errors may have findings; correct them first")
            return
        from webhook.report.data import yaml_text  # imports libraries that other runs do not need

        with destinations([self._file]) as (write,):
            write(yaml_text(self._recorded.as_data()))
        tally.baseline = BaselineUse(self._file, is_written=True)


class _Names:
    """The names of files in a baseline: relative to its folder, so that the working directory does not matter."""

    __slots__ = ("_folder", "_folder_of")

    def __init__(self, file: str) -> None:
        self._folder = os.path.realpath(PurePath(file).parent)
        self._folder_of = lru_cache(_FOLDERS)(os.path.realpath)

    def of(self, file: str) -> str:
        """Return the name of a file, with slashes. Standard input keeps its name."""
        if file == STDIN:
            return file
        path = PurePath(file)
        return PurePath(os.path.relpath(self._folder_of(str(path.parent)), self._folder), path.name).as_posix()

    def is_gone(self, name: str) -> bool:
        """Return whether a file of the baseline does not exist any more, or cannot exist under its name."""
        try:
            if name != STDIN:
                Path(self._folder, name).stat()
        except PermissionError:
            return False
        except (OSError, ValueError):
            return True
        return False


_FOLDERS = 1024
"""Folders whose real names are remembered."""
