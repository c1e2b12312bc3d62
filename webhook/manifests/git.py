"""What git ignores in the work trees of a run, as git itself says.

git runs no program and no transport that the repository names: an archive by an author you do not trust may hold a
whole repository, with its settings, its index and its patterns.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from posixpath import dirname
from typing import NamedTuple, TypeVar

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import problem
from webhook.policy.messages import printable

Answer = TypeVar("Answer")

_MOST = 20
"""Work trees for which git may fail. An archive may hold any number of folders called `.git`."""


class Ignored(NamedTuple):
    """What git ignores in a folder: `paths` begin at the root of its work tree, `inside` leads from there to it.

    The paths are in order. Those of folders end with a slash, and so does `inside` unless it is empty.
    """

    paths: Sequence[str] = ()
    inside: str = ""

    def has(self, name: str, *, is_folder: bool) -> bool:
        """Return whether git ignores a file or folder in this folder."""
        path = f"{self.inside}{name}{'/' if is_folder else ''}"
        return self._next(path) == path

    def concerns(self) -> bool:
        """Return whether git ignores something in this folder, or a folder that holds it."""
        above = (self.inside[: end + 1] for end, character in enumerate(self.inside) if character == "/")
        return self._next(self.inside).startswith(self.inside) or any(self._next(one) == one for one in above)

    def _next(self, path: str) -> str:
        """Return the first ignored path that is not before a path in their order; an empty one after the last."""
        place = bisect_left(self.paths, path)
        return self.paths[place] if place < len(self.paths) else ""

    def below(self, name: str) -> Ignored:
        return self._replace(inside=f"{self.inside}{name}/")


class WorkTrees:
    """The work trees of a run. git is asked once for each; where it does not answer, nothing is ignored."""

    def __init__(self, tell: Callable[[Diagnostic], object]) -> None:
        self._left = SECONDS
        self._tell = tell
        self._paths: dict[str, Sequence[str]] = {}
        self._failures = 0

    def of(self, folder: str) -> Ignored:
        """Return what git ignores in a folder that is named: nothing if it ignores the folder as a whole.

        A user who names an ignored folder, such as that of a renderer's output, wants to read it.
        """
        place = os.path.realpath(folder)
        root = work_tree(place)
        if root is None:
            return Ignored()
        ignored = Ignored(self._below(root, folder), "" if place == root else f"{os.path.relpath(place, root)}/")
        if ignored.inside and ignored.concerns():
            is_ignored = self._asked(folder, lambda: self._run(root, *_IS_IGNORED, place)[0] == 0, True)
            return Ignored() if is_ignored else ignored
        return ignored

    def within(self, folder: str) -> Ignored:
        """Return what git ignores in a repository inside another one, where it applies the rules of this one only."""
        return Ignored(self._below(os.path.realpath(folder), folder))

    def _below(self, root: str, folder: str) -> Sequence[str]:
        if root not in self._paths:
            self._paths[root] = self._asked(folder, lambda: self._ignored(root), [])
        return self._paths[root]

    def _asked(self, folder: str, ask: Callable[[], Answer], otherwise: Answer) -> Answer:
        """Return an answer of git, or what holds without one."""
        if self._failures == _MOST:
            return otherwise
        try:
            return ask()
        except GitError as error:
            self._failures += 1
            further = "" if self._failures < _MOST else "; git is not asked again in this run"
            message = f"git could not say what it ignores ({error}): nothing is ignored{further}"
            self._tell(problem(folder, message))
            return otherwise

    def _ignored(self, root: str) -> list[str]:
        """Return the paths in a work tree that are ignored, from its root and in order; a folder's ends with a slash.

        A folder that is ignored as a whole stands for its content. A tracked file is never ignored, and a folder with
        one is not ignored as a whole. Raises GitError.
        """
        # git lists what it ignores rather than the rest: what it does not know, such as a folder without files or a
        # name that its index spells in another case, is then read.
        options = ("--others", "--ignored", "--exclude-standard", "--directory", "-z")
        status, listed = self._run(root, "ls-files", *options)
        if status:
            raise GitError(f"it ends with {status}")
        paths = set(os.fsdecode(listed).split("\0")) - {""}
        # A folder whose files are all ignored one by one is listed beside them.
        return sorted(paths - {f"{dirname(path.removesuffix('/'))}/" for path in paths})

    def _run(self, root: str, *arguments: str) -> tuple[int, bytes]:
        """Return the exit status, 0 or 1, and the output. Raises GitError."""
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
        return git.returncode, git.stdout


_IS_IGNORED = ("check-ignore", "--quiet", "--no-index", "--")
"""Whether a folder of a work tree is ignored, itself or with one above it."""


def work_tree(folder: str) -> str | None:
    """Return the root of the work tree that holds a real path; None outside all."""
    while not os.path.lexists(f"{folder}/.git"):
        parent = dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


SECONDS = 15.0
"""The time that git gets in a run, for all work trees together: it waits forever for a `.gitignore` that is a pipe."""

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
