"""Patterns of paths, compared with `git check-ignore`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.linear import assert_linear
from webhook.manifests.folders import Patterns

FILES = (
    "a",
    "b.a",
    "ab",
    "a.b",
    "c/a",
    "c/b/a",
    "c/b/c/a.b",
    "d/c/b/a",
    "d/ab/ba",
    "-",
    "a]",
    "[",
    "#a",
    "!a",
    "a ",
    "*",
    "\\a",
)
FOLDERS = ("c", "c/b", "c/b/c", "d", "d/c", "d/c/b", "d/ab")
PATHS = (*FILES, *FOLDERS)

WORDS = ["**", "**/", "/**", "*.b", "[a-b]", "[!a]", "[^c]", "[]a]", "c/", "a/"]
LINE = st.lists(st.sampled_from([*WORDS, *"abcd*?/!#.- "]), max_size=6).map("".join)
# gitignore(5) gives `a**` the meaning of `a*`. Where no other wildcard is before it, git compares the `a` apart, and
# then takes the stars for the start of a pattern (`match_pathname` in dir.c).
UNDOCUMENTED = re.compile(r"!?/?[^*?\[\\]*[^/*?\[\\]\*\*")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds the paths."""
    top = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    for path in FILES:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    return top


def ignored_by_git(repository: Path, lines: list[str]) -> set[str]:
    (repository / ".gitignore").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.decode().split("\0")) - {""}


def ignored(lines: list[str]) -> set[str]:
    patterns = Patterns(lines)
    found: set[str] = set()
    for path in sorted(PATHS):
        folder = path.rpartition("/")[0]
        if folder in found or patterns.match(path, folder=path in FOLDERS):
            found.add(path)
    return found


@example(["*a*b"])
@example(["**/b/**/a"])
@example(["c/**/b/", "!c/b/"])
@example(["/*", "!/c/", "!a"])
@example(["a\\ ", "\\#a", "\\!a", "\\*", "\\\\a"])
@example(["c/***/a", "c/**a", "**", "!**/"])
@given(st.lists(LINE.filter(lambda line: not UNDOCUMENTED.match(line)), max_size=5))
def test_patterns_match_as_in_git(repository: Path, lines: list[str]) -> None:
    assert ignored(lines) == ignored_by_git(repository, lines)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["*a{}b", "**/a{}/b", "a?{}*b"])
def test_hostile_pattern_takes_linear_time(pattern: str) -> None:
    def prepared(size: int) -> Callable[[], object]:
        patterns = Patterns([pattern.format("*a" * 20), pattern.format("/**/a" * 20)])
        subject = "/".join(["a" * 50] * size)
        return lambda: patterns.match(subject)

    assert_linear(prepared, 8, 512)
