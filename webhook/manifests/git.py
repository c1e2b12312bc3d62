"""What git ignores in the work trees of a run, as git itself says.

git runs no program and no transport that the repository names: an archive by an author you do not trust may hold a
whole repository, with its settings, its index and its patterns.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from posixpath import dirname
from typing import NamedTuple

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import problem
from webhook.policy.messages import printable

_MOST = 20
"""Work trees for which git may fail. An archive may hold any number of folders called `.git`."""


class Ignored(NamedTuple):
    """What git ignores in a folder: `paths` begin at the root of its work tree, `inside` leads from there to it.

    The paths of folders end with a slash, and so does `inside` unless it is empty.
    """

    paths: frozenset[str] = frozenset()
    inside: str = ""

    def has(self, name: str, *, is_folder: bool) -> bool:
        """Return whether git ignores a file or folder in this folder."""
        return f"{self.inside}{name}{'/' if is_folder else ''}" in self.paths

    def below(self, name: str) -> Ignored:
        return self._replace(inside=f"{self.inside}{name}/")


class WorkTrees:
    """The work trees of a run. git is asked once for each; where it does not answer, nothing is ignored."""

    def __init__(self, tell: Callable[[Diagnostic], object]) -> None:
        self._left = SECONDS
        self._tell = tell
        self._paths: dict[str, frozenset[str]] = {}
        self._failures = 0

    def of(self, folder: str) -> Ignored:
        """Return what git ignores in a folder by the rules of its repository: nothing if it ignores the folder itself.

        A user who names an ignored folder, such as that of a renderer's output, wants to read it.
        """
        place = os.path.realpath(folder)
        root = _root(place)
        if root is None:
            return Ignored()
        if root not in self._paths:
            # A folder that is ignored as a whole stands for its content. A tracked file is never ignored, and a folder
            # with one is not ignored as a whole.
            listed = self._git(folder, root, *_LIST) or b""
            found = set(os.fsdecode(listed).split("\0")) - {""}
            # A folder whose files are all ignored one by one is listed beside them.
            self._paths[root] = frozenset(found - {f"{dirname(path.removesuffix('/'))}/" for path in found})
        paths = self._paths[root]
        if place == root or not paths:
            return Ignored(paths)
        # A change may add a file to an ignored folder, so that git lists the others one by one.
        is_ignored = self._git(folder, root, *_IS_IGNORED, place) is not None
        return Ignored() if is_ignored else Ignored(paths, f"{os.path.relpath(place, root)}/")

    def _git(self, folder: str, root: str, *arguments: str) -> bytes | None:
        """Return what git answers for a folder; None for no, and without an answer."""
        if self._failures == _MOST:
            return None
        try:
            return self._run(root, *arguments)
        except GitError as error:
            self._failures += 1
            further = "" if self._failures < _MOST else "; git is not asked again in this run"
            message = f"git could not say what it ignores ({error}): nothing is ignored{further}"
            self._tell(problem(folder, message))
            return None

    def _run(self, root: str, *arguments: str) -> bytes | None:
        """Return the output, None for the exit status 1. Raises GitError."""
        # A relative folder of PATH could be one of the checkout.
        path = os.pathsep.join(folder for folder in os.get_exec_path() if folder.startswith("/"))
        program = shutil.which("git", path=path)
        if program is None:
            raise GitError("there is no git on the PATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        start = time.monotonic()
        try:
            git = subprocess.run(  # noqa: S603 - no shell, and the paths follow options that take them literally
                [program, *_OPTIONS, "-C", root, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=kept | _VARIABLES | {"PATH": path},
                timeout=max(0, self._left),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"it takes longer than {SECONDS:g} s") from None
        except OSError as error:
            raise GitError(f"it cannot be started: {error.strerror}") from None
        finally:
            self._left -= time.monotonic() - start
        if git.returncode not in (0, 1):
            raise GitError(_reason(git.returncode, git.stderr.decode("utf-8", "replace")))
        return None if git.returncode else git.stdout


def _root(folder: str) -> str | None:
    while not os.path.lexists(f"{folder}/.git"):
        parent = dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


SECONDS = 15.0
"""The time that git gets in a run, for all work trees together: it waits forever for a `.gitignore` that is a pipe."""

_IS_IGNORED = ("check-ignore", "--quiet", "--no-index", "--")
_LIST = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
"""git lists what it ignores rather than the rest: what it does not know, such as a folder without files or a name that
its index spells in another case, is then read."""

_OPTIONS = (
    # Programs that the settings of a repository may name, and settings that lie in a folder of a change.
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "safe.bareRepository=explicit"),
)
_VARIABLES = {
    # In a partial clone, git fetches a missing .gitignore from where the settings say, with the command that they name.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


class GitError(Exception):
    """git does not answer. The text says why."""


def _reason(status: int, messages: str) -> str:
    """Return why git has failed: the first line that says so."""
    if status < 0:
        return f"signal {-status} ends it"
    lines = messages.splitlines() or [f"it ends with {status}"]
    return printable(next((line for line in lines if line.startswith("fatal: ")), lines[0]).removeprefix("fatal: "))
