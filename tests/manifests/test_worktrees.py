"""What git ignores in the work trees of a folder, as git itself says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear import assert_linear
from tests.manifests.repositories import Seen, commit, git, read, write
from webhook.manifests import Reason

GITIGNORES = {
    ".gitignore": "*.tmp.yaml\n/only-top.yaml\nbuild/\n!kept.tmp.yaml\ndeep/**/x.yaml\n# c\n",
    "sub/.gitignore": "!a.tmp.yaml\nlocal.yaml\n",
    "sub/below/.gitignore": "*\n!*.yaml\nno.yaml\n",
    ".git/info/exclude": "mine.yaml\n!kept.tmp.yaml\n",
}


@pytest.fixture
def repository(work_tree: Path) -> Path:
    """A repository with .gitignore files on three levels."""
    for file, text in GITIGNORES.items():
        (work_tree / file).parent.mkdir(parents=True, exist_ok=True)
        (work_tree / file).write_text(text)
    names = ("a.tmp.yaml", "kept.tmp.yaml", "only-top.yaml", "local.yaml", "no.yaml", "mine.yaml", "x.yaml", "y.json")
    for folder in (".", "build", "sub", "sub/below", "sub/build", "sub/below/more", "deep", "deep/er/still"):
        write(work_tree, *(f"{folder}/{name}" for name in names))
    return work_tree


def kept_by_git(repository: Path, folder: str = ".") -> set[str]:
    listed = git(repository, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder)
    kept = {file for file in listed.split("\0") if file.endswith((".yaml", ".json"))}
    return {file for file in kept if (repository / file).exists()}


@pytest.mark.parametrize("folder", [".", "sub", "sub/below", "deep", "deep/er"])
def test_ignored_files_are_those_of_git(repository: Path, folder: str) -> None:
    files, skipped = read(folder)
    assert {str(Path(file)) for file in files} == kept_by_git(repository, folder)
    assert set(skipped.values()) == {Reason.IGNORED}


def test_tracked_files_are_read_whatever_gitignore_says(repository: Path) -> None:
    tracked = ("a.tmp.yaml", "build/x.yaml", "sub/below/no.yaml", "deep/er/still/x.yaml")
    git(repository, "add", "--force", *tracked)
    (repository / ".gitignore").write_text("*\n")
    files, skipped = read(".")
    assert files == sorted(f"./{file}" for file in tracked)
    assert {"./build/a.tmp.yaml", "./sub/local.yaml", "./sub/build/"} <= skipped.keys()
    # The index names files that are gone.
    (repository / "build" / "x.yaml").unlink()
    assert read(".")[0] == sorted(f"./{file}" for file in tracked if not file.startswith("build"))


LINES = st.lists(
    st.sampled_from(["a", "b/", "/c", "*.yaml", "!a.yaml", "c/*", "!c/b/", "**/a", "b/**", "*", "!*/", "!/c"])
)
TREE = tuple(f"{folder}{file}.yaml" for folder in ("", "a/", "b/", "c/", "c/b/", "c/a/b/") for file in "ab")


@settings(max_examples=30)
@given(above=LINES, below=LINES, tracked=st.sets(st.sampled_from(TREE)))
def test_what_is_read_is_what_git_keeps(
    tmp_path_factory: pytest.TempPathFactory, above: list[str], below: list[str], tracked: set[str]
) -> None:
    repository = tmp_path_factory.mktemp("repository")
    git(repository, "init", "--quiet")
    write(repository, *TREE)
    (repository / ".gitignore").write_text("\n".join(above))
    (repository / "c" / ".gitignore").write_text("\n".join(below))
    git(repository, "add", "--force", "--", *sorted(tracked), ".gitignore")
    found = {file.removeprefix(f"{repository}/") for file in read(str(repository))[0] if ": " not in file}
    assert found == kept_by_git(repository)


def test_ignored_folder_that_is_named_is_read(repository: Path) -> None:
    files, skipped = read("build")
    assert len(files) == 8
    assert not skipped
    assert read("sub/build") == ([file.replace("build", "sub/build") for file in files], {})
    # A change that adds a file to the folder of a renderer hides none of the others.
    git(repository, "add", "--force", "build/x.yaml")
    assert read("build") == (files, {})
    write(repository, "build/below/deep/z.yaml")
    assert read("build/below/deep") == (["build/below/deep/z.yaml"], {})
    # Only what the folder holds is ignored, file by file.
    (repository / ".gitignore").write_text("build/*\n")
    assert read("build")[0] == ["build/x.yaml"]


@pytest.mark.parametrize("name", ["*", "[a]", ":(top)a", "-a", "a b", "\u00fc", "\udcff"])
def test_ignored_folder_with_any_name_is_read_if_named(work_tree: Path, name: str) -> None:
    (work_tree / ".gitignore").write_text("*/\n")
    write(work_tree, f"{name}/deep/a.yaml", f"{name}/b.yaml", "other/c.yaml")
    git(work_tree, "add", "--force", "--", f"./{name}/b.yaml")
    assert len(read(f"./{name}")[0]) == 2
    assert len(read(f"./{name}/deep")[0]) == 1


def test_folders_without_files_are_not_said_to_be_ignored(work_tree: Path) -> None:
    write(work_tree, "a.yaml")
    (work_tree / "empty" / "deep").mkdir(parents=True)
    os.mkfifo(work_tree / "empty" / "b.yaml")
    assert read(".") == (["./a.yaml"], {"./empty/b.yaml": Reason.IRREGULAR})


def test_folder_of_ignored_files_is_not_said_to_be_ignored(work_tree: Path) -> None:
    write(work_tree, "a.yaml", "cache/x.pyc", "cache/below/y.pyc", "both/x.pyc", "both/b.yaml", "folder/below/c.yaml")
    (work_tree / ".gitignore").write_text("*.pyc\nb.yaml\nfolder/below/\n")
    assert read(".") == (["./a.yaml"], {"./both/b.yaml": Reason.IGNORED, "./folder/below/": Reason.IGNORED})


@pytest.mark.parametrize("has_commit", [False, True])
def test_repository_inside_has_its_own_rules(repository: Path, has_commit: bool) -> None:
    git(repository, "init", "--quiet", "other")
    write(repository, "other/mine.yaml", "other/a.tmp.yaml", "other/b.yaml", "other/.gitignore")
    (repository / "other" / ".gitignore").write_text("b.yaml")
    if has_commit:
        commit(repository / "other")
    assert read("other") == (["other/a.tmp.yaml", "other/mine.yaml"], {"other/b.yaml": Reason.IGNORED})
    files, skipped = read(".")
    assert {"./other/mine.yaml", "./other/a.tmp.yaml"} <= set(files)
    assert skipped["./other/b.yaml"] == Reason.IGNORED
    # As a whole it belongs to the repository around it.
    (repository / ".gitignore").write_text("other/")
    assert read(".")[1]["./other/"] == Reason.IGNORED


def test_submodule_has_its_own_rules(work_tree: Path, tmp_path: Path) -> None:
    module = tmp_path / "module"
    write(module, "a.yaml", "b.yaml", "tracked.yaml")
    git(module, "init", "--quiet")
    commit(module)
    git(work_tree, "submodule", "--quiet", "add", str(module), "sub")
    write(
        work_tree,
        "sub/.gitignore",
        "sub/new.yaml",
        ".gitignore",
        **{"sub/.gitignore": "new.yaml\na.yaml", ".gitignore": "*"},
    )
    assert read(".") == (["./sub/a.yaml", "./sub/b.yaml", "./sub/tracked.yaml"], {"./sub/new.yaml": Reason.IGNORED})
    assert (work_tree / "sub" / ".git").is_file()
    assert read("sub")[1] == {"sub/new.yaml": Reason.IGNORED}


def test_submodule_that_is_missing_hides_nothing_in_its_folder(work_tree: Path) -> None:
    """A change may commit a submodule where another step of the job puts the manifests that it renders."""
    write(work_tree, "kept.yaml")
    commit(work_tree)
    git(
        work_tree,
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{git(work_tree, 'rev-parse', 'HEAD').strip()},rendered",
    )
    write(work_tree, "rendered/a.yaml", "rendered/below/b.yaml")
    assert read(".")[0] == ["./kept.yaml", "./rendered/a.yaml", "./rendered/below/b.yaml"]
    assert read("rendered")[0] == ["rendered/a.yaml", "rendered/below/b.yaml"]


def test_linked_work_tree(work_tree: Path, tmp_path: Path) -> None:
    write(work_tree, "a.yaml", ".gitignore", **{".gitignore": "b.yaml"})
    commit(work_tree)
    git(work_tree, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    write(tmp_path / "linked", "b.yaml")
    assert read(str(tmp_path / "linked")) == (
        [f"{tmp_path}/linked/a.yaml"],
        {f"{tmp_path}/linked/b.yaml": Reason.IGNORED},
    )


def test_names_that_are_no_text(work_tree: Path) -> None:
    for name in (b"\xff.yaml", b"a\nb.yaml", b"-.yaml", "\u00fc.yaml".encode(), b"kept.yaml"):
        (work_tree / os.fsdecode(name)).write_text("")
    (work_tree / ".gitignore").write_bytes(b"\xff.yaml\n*b.yaml\n-.yaml\n\xc3\xbc.yaml\n")
    assert read(".")[0] == ["./kept.yaml"]
    assert len(read(".")[1]) == 4


@pytest.mark.slow
def test_walk_takes_linear_time(work_tree: Path) -> None:
    (work_tree / ".gitignore").write_text("".join(f"*.x{number}\n/y{number}/\n" for number in range(100)))

    def prepared(size: int) -> Callable[[], object]:
        folder = work_tree / str(size)
        write(folder, *(f"{number % 7}/{number}.yaml" for number in range(size)))
        return lambda: read(str(folder))

    assert_linear(prepared, 64, 1024)


@pytest.mark.slow
def test_folders_that_are_named_take_linear_time(work_tree: Path) -> None:
    (work_tree / ".gitignore").write_text("*.tmp\n")

    def prepared(size: int) -> Callable[[], object]:
        names = [f"{size}/{number}" for number in range(size)]
        write(work_tree, *(f"{name}/a.yaml" for name in names), *(f"{name}.tmp" for name in names))
        return lambda: read(*names)

    assert_linear(prepared, 64, 256)


def test_named_files_as_in_a_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "add", "--force", "build/x.yaml")
    write(repository, ".github/a.yaml", "chart/Chart.yaml", "chart/templates/deep/a.yaml", "over/patch.yaml", "b.txt")
    (repository / "over" / "kustomization.yaml").write_text("patches: [{path: patch.yaml}]")
    (repository / "link.yaml").symlink_to("../out.yaml")
    kept, skipped = read(".")
    named = [str(path.relative_to(repository)) for path in repository.rglob("*.[jy]*") if ".git/" not in str(path)]
    seen = Seen(*named, as_in_folder=True)
    assert set(seen.files) == {file.removeprefix("./") for file in kept}
    assert set(seen.skipped.values()) == set(skipped.values())
    assert seen.notices == []
    # From outside, the folder of the file is what counts.
    monkeypatch.chdir(repository / "sub")
    seen = Seen("../over/patch.yaml", "gone.yaml", "../.git/x.yaml", as_in_folder=True)
    assert seen.skipped == {}
    missing = ["gone.yaml: no such file or folder", "../.git/x.yaml: no such file or folder"]
    assert seen.files == ["../over/patch.yaml", *missing]
    monkeypatch.chdir(repository)
    write(repository, ".git/x.yaml")
    assert Seen(".git/x.yaml", as_in_folder=True).skipped == {".git/x.yaml": Reason.GIT}


def test_named_pipes_and_devices_as_in_a_folder(work_tree: Path) -> None:
    os.mkfifo(work_tree / "a.yaml")
    (work_tree / "b.yaml").symlink_to("/dev/zero")
    (work_tree / "c.yaml").symlink_to("/dev/stdin")
    reading, writing = os.pipe()
    os.write(writing, b"a: 1")
    os.close(writing)
    seen = Seen("a.yaml", "b.yaml", "c.yaml", f"/dev/fd/{reading}", "/dev/zero", as_in_folder=True)
    os.close(reading)
    assert seen.skipped == {
        "a.yaml": Reason.IRREGULAR,
        "b.yaml": Reason.OUTSIDE,
        "c.yaml": Reason.OUTSIDE,
        "/dev/zero": Reason.IRREGULAR,
    }
    assert seen.files == [f"/dev/fd/{reading}"]
