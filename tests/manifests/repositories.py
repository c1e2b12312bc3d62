"""Work trees for tests, what a run reads of them, and its notices."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Source, sources

_GIT = ("git", "-c", "user.name=author", "-c", "user.email=author@example.com", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints in a folder."""
    done = subprocess.run([*_GIT, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def commit(folder: Path) -> None:
    """Commit all files of a work tree."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=All")


def write(top: Path, *files: str, **texts: str) -> None:
    """Write files below a folder; `texts` holds what is in those that are not empty."""
    for file in files:
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).write_text(texts.get(file, ""))


class Seen:
    """What is read of the inputs, with errors among it; what is skipped, and why; and the notices."""

    def __init__(self, *names: str, exclude: tuple[str, ...] = (), as_in_folder: bool = False) -> None:
        self.notices: list[str] = []
        self.files: list[str] = []
        self.skipped: dict[str, str] = {}
        for one in sources(names, io.BytesIO(), self._tell, exclude, as_in_folder=as_in_folder):
            if isinstance(one, Source):
                self.files.append(one.file)
            elif isinstance(one, Unread):
                self.skipped[one.file] = one.reason
            else:
                self.files.append(str(one))

    def _tell(self, notice: Diagnostic) -> None:
        self.notices.append(str(notice))


def read(*names: str, exclude: tuple[str, ...] = ()) -> tuple[list[str], dict[str, str]]:
    """Return the files that are read, and the reasons for those that are not. There are no notices."""
    seen = Seen(*names, exclude=exclude)
    assert seen.notices == []
    return seen.files, seen.skipped


def unexpected(notice: Diagnostic) -> None:
    """Fail, since no notice is expected."""
    raise AssertionError(notice)
