"""The work trees of git in which a run looks for manifests, and what git ignores there."""

from __future__ import annotations

import os
from collections.abc import Callable
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

    The paths of folders end with a slash, and so does `inside` unless it is empty.
    """

    paths: frozenset[str] = frozenset()
    inside: str = ""

    def has(self, name: str, *, is_folder: bool) -> bool:
        """Return whether git ignores a file or folder in this folder."""
        return f"{self.inside}{name}{'/' if is_folder else ''}" in self.paths

    def below(self, name: str) -> Ignored:
        """Return what git ignores in a folder in this folder."""
        return self._replace(inside=f"{self.inside}{name}/")


class WorkTrees:
    """The work trees of a run. git is asked once for each; where it does not answer, nothing is ignored."""

    __slots__ = ("_failures", "_git", "_paths", "_tell")

    def __init__(self, tell: Tell) -> None:
        self._git = Git()
        self._tell = tell
        self._paths: dict[str, frozenset[str]] = {}
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
        if ignored.inside and any(_concerns(path, ignored.inside) for path in ignored.paths):
            return Ignored() if self._asked(folder, lambda: self._git.ignores(root, place), True) else ignored
        return ignored

    def within(self, folder: str) -> Ignored:
        """Return what git ignores in a repository inside another one, where it applies the rules of this one only."""
        return Ignored(self._below(os.path.realpath(folder), folder))

    def _below(self, root: str, folder: str) -> frozenset[str]:
        if root not in self._paths:
            self._paths[root] = self._asked(folder, lambda: self._git.ignored(root), frozenset())
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
            message = f"git could not say what it ignores ({error}): every file is read{further}"
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


def _concerns(path: str, inside: str) -> bool:
    """Return whether an ignored path lies in a folder, or the folder in it."""
    return path.startswith(inside) or (path.endswith("/") and inside.startswith(path))
