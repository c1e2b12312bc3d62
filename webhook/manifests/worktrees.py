"""The work trees of git in which a run looks for manifests, and what git ignores there."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from posixpath import dirname
from typing import NamedTuple, TypeAlias, TypeVar

from webhook.diagnostics import Diagnostic
from webhook.manifests.files import problem
from webhook.manifests.git import Git, GitError

Answer = TypeVar("Answer")

Tell: TypeAlias = Callable[[Diagnostic], object]
"""Says what a user should know about an input that is no error of it."""

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
        """Return what git ignores in a folder in this folder."""
        return self._replace(inside=f"{self.inside}{name}/")


class WorkTrees:
    """The work trees of a run. git is asked once for each; where it does not answer, nothing is ignored."""

    __slots__ = ("_failures", "_git", "_paths", "_tell")

    def __init__(self, tell: Tell) -> None:
        self._git = Git()
        self._tell = tell
        self._paths: dict[str, Sequence[str]] = {}
        self._failures = 0

    def of(self, folder: str) -> Ignored:
        """Return what git ignores in a folder that is named: nothing if it ignores the folder as a whole.

        A user who names an ignored folder, such as that of a renderer's output, wants to read it.
        """
        place = os.path.realpath(folder)
        root = _root(place)
        if root is None:
            return Ignored()
        ignored = Ignored(self._below(root, folder), "" if place == root else f"{os.path.relpath(place, root)}/")
        if ignored.inside and ignored.concerns():
            return Ignored() if self._asked(folder, lambda: self._git.ignores(root, place), True) else ignored
        return ignored

    def within(self, folder: str) -> Ignored:
        """Return what git ignores in a repository inside another one, where it applies the rules of this one only."""
        return Ignored(self._below(os.path.realpath(folder), folder))

    def _below(self, root: str, folder: str) -> Sequence[str]:
        if root not in self._paths:
            self._paths[root] = self._asked(folder, lambda: self._git.ignored(root), [])
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


def _root(folder: str) -> str | None:
    """Return the root of the work tree that holds a folder; None outside one."""
    while not os.path.lexists(f"{folder}/.git"):
        parent = dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder
