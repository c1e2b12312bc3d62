"""Which files of a folder are read, and why the others are not."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.linear import assert_linear
from webhook.diagnostics import Unread
from webhook.manifests import Reason, Source, sources


def write(top: Path, *files: str, **texts: str) -> None:
    for file in files:
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).write_text(texts.get(file, ""))


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*names: str, recursive: bool = True, exclude: tuple[str, ...] = ()) -> tuple[list[str], dict[str, str]]:
    """Return the files that are read, and the reasons for those that are not."""
    files: list[str] = []
    skipped: dict[str, str] = {}
    for one in sources(names, recursive, io.BytesIO(), exclude):
        if isinstance(one, Source):
            files.append(one.file)
        elif isinstance(one, Unread):
            skipped[one.file] = one.reason
        else:
            files.append(str(one))
    return files, skipped


def test_extensions(top: Path) -> None:
    write(top, "a.yaml", "b.yml", "c.json", "d.jsonl", "e.ndjson", "f.txt", "g.yaml.bak", "h", "i.YAML")
    assert read(".") == (["./a.yaml", "./b.yml", "./c.json", "./d.jsonl", "./e.ndjson"], {})


def test_hidden_files_and_folders(top: Path) -> None:
    write(top, "a.yaml", ".b.yaml", ".txt", ".github/workflows/c.yaml", ".git/d.yaml")
    assert read(".") == (["./a.yaml"], {"./.b.yaml": Reason.HIDDEN, "./.github/": Reason.HIDDEN})
    assert read(".github") == ([".github/workflows/c.yaml"], {})


def test_links_to_folders(top: Path) -> None:
    write(top, "a/b.yaml")
    (top / "a" / "c").symlink_to("..")
    (top / "a" / "d.yaml").symlink_to("../a")
    assert read(".") == (["./a/b.yaml"], {"./a/c/": Reason.LINK, "./a/d.yaml/": Reason.LINK})


GITIGNORES = {
    ".gitignore": "*.tmp.yaml\n/only-top.yaml\nbuild/\n!kept.tmp.yaml\ndeep/**/x.yaml\n# c\n",
    "sub/.gitignore": "!a.tmp.yaml\nlocal.yaml\n",
    "sub/below/.gitignore": "*\n!*.yaml\nno.yaml\n",
    ".git/info/exclude": "mine.yaml\n!kept.tmp.yaml\n",
}


@pytest.fixture
def repository(top: Path) -> Path:
    """A repository with .gitignore files on three levels."""
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    for file, text in GITIGNORES.items():
        (top / file).parent.mkdir(parents=True, exist_ok=True)
        (top / file).write_text(text)
    names = ("a.tmp.yaml", "kept.tmp.yaml", "only-top.yaml", "local.yaml", "no.yaml", "mine.yaml", "x.yaml", "y.json")
    for folder in (".", "build", "sub", "sub/below", "sub/build", "sub/below/more", "deep", "deep/er/still"):
        write(top, *(f"{folder}/{name}" for name in names))
    return top


def kept_by_git(repository: Path, folder: str) -> set[str]:
    command = ["git", "-c", "core.excludesFile=", "ls-files", "--others", "--exclude-standard", "-z", "--", folder]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=True)
    return {file for file in done.stdout.decode().split("\0") if file.endswith((".yaml", ".json"))}


@pytest.mark.parametrize("folder", [".", "sub", "sub/below", "deep", "deep/er"])
def test_gitignored_files_are_those_of_git(repository: Path, folder: str) -> None:
    files, skipped = read(folder)
    assert {str(Path(file)) for file in files} == kept_by_git(repository, folder)
    assert set(skipped.values()) == {Reason.IGNORED}


def test_gitignored_folder_that_is_named_is_read(repository: Path) -> None:
    files, skipped = read("build")
    assert len(files) == 8
    assert not skipped
    assert read("sub/build") == ([file.replace("build", "sub/build") for file in files], {})


def test_gitignore_of_another_repository_inside(repository: Path) -> None:
    write(repository, "other/.git", "other/mine.yaml", "other/a.tmp.yaml")
    assert read("other")[0] == ["other/a.tmp.yaml", "other/mine.yaml"]
    assert "./other/mine.yaml" in read(".")[0]


def test_gitignore_outside_a_repository_applies_below(top: Path) -> None:
    write(top, "a/b.yaml", "a/c.yaml", "a/d.yaml")
    (top / ".gitignore").write_text("b.yaml")
    (top / "a" / ".gitignore").write_text("c.yaml")
    assert read(".") == (["./a/d.yaml"], {"./a/b.yaml": Reason.IGNORED, "./a/c.yaml": Reason.IGNORED})
    assert read("a") == (["a/b.yaml", "a/d.yaml"], {"a/c.yaml": Reason.IGNORED})


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (("b.yaml",), ["a.yaml", "sub/a.yaml", "sub/deep/a.yaml"]),
        (("/manifests/b.yaml",), ["a.yaml", "sub/a.yaml", "sub/b.yaml", "sub/deep/a.yaml", "sub/deep/b.yaml"]),
        (("/b.yaml",), ["a.yaml", "b.yaml", "sub/a.yaml", "sub/b.yaml", "sub/deep/a.yaml", "sub/deep/b.yaml"]),
        (("sub/",), ["a.yaml", "b.yaml"]),
        (("manifests/*/deep",), ["a.yaml", "b.yaml", "sub/a.yaml", "sub/b.yaml"]),
        (("**/deep/**",), ["a.yaml", "b.yaml", "sub/a.yaml", "sub/b.yaml"]),
        (("*.yaml", "!a.yaml"), ["a.yaml", "sub/a.yaml", "sub/deep/a.yaml"]),
    ],
)
def test_exclude(top: Path, patterns: tuple[str, ...], kept: list[str]) -> None:
    write(top, *(f"manifests/{folder}{name}.yaml" for folder in ("", "sub/", "sub/deep/") for name in "ab"))
    files, skipped = read("manifests", exclude=patterns)
    assert files == [f"manifests/{file}" for file in kept]
    assert set(skipped.values()) <= {Reason.EXCLUDED}
    assert read(str(top / "manifests"), exclude=patterns)[0] == [f"{top}/manifests/{file}" for file in kept]


def test_exclude_is_relative_to_a_folder_outside(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(top, "here/x", "there/a.yaml", "there/b.yaml")
    monkeypatch.chdir(top / "here")
    assert read("../there", exclude=("/a.yaml",))[0] == ["../there/b.yaml"]


def test_exclude_of_named_files(top: Path) -> None:
    write(top, "vendor/a.yaml", "b.yaml")
    assert read("vendor/a.yaml", "b.yaml", exclude=("vendor/",)) == (["b.yaml"], {"vendor/a.yaml": Reason.EXCLUDED})
    assert read(str(top / "vendor/a.yaml"), exclude=("/vendor",))[0] == []
    assert read("vendor/a.yaml", exclude=("a.yml",))[0] == ["vendor/a.yaml"]


def test_helm_chart(top: Path) -> None:
    chart = ("Chart.yaml", "values.yaml", "values-dev.yaml", "ci/a-values.yaml", "templates/a.yaml", "crds/b.yaml")
    write(top, *(f"chart/{file}" for file in (*chart, "charts/inner/Chart.yaml", "charts/inner/templates/c.yaml")))
    write(top, "templates/d.yaml")
    files, skipped = read(".")
    assert files == ["./chart/ci/a-values.yaml", "./chart/crds/b.yaml", "./templates/d.yaml"]
    assert skipped == dict.fromkeys(
        (
            *("./chart/Chart.yaml", "./chart/charts/inner/Chart.yaml", "./chart/charts/inner/templates/"),
            *("./chart/templates/", "./chart/values-dev.yaml", "./chart/values.yaml"),
        ),
        Reason.CHART,
    )


@pytest.mark.parametrize("named", ["chart/templates", "chart/templates/deep", "chart"])
def test_helm_chart_alone_says_how_to_render(top: Path, named: str) -> None:
    write(top, "chart/Chart.yaml", "chart/templates/deep/a.yaml")
    (message, *more), _ = read(named)
    assert not more
    assert "part of a Helm chart); pipe `helm template` and name - instead" in message


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("manifests/*.yaml", ["a.yaml", "b.yaml"]),
        ("manifests/**/*.yaml", ["a.yaml", "b.yaml", "sub/a.yaml", "sub/deep/a.yaml"]),
        ("manifests/*/a.yaml", ["sub/a.yaml"]),
        ("manifests/[!a]*", ["b.yaml"]),
        ("manifests/sub/**", ["sub/a.yaml", "sub/c.json", "sub/deep/a.yaml"]),
        ("*/?.yaml", ["a.yaml", "b.yaml"]),
        ("mani*s/sub/*.json", ["sub/c.json"]),
    ],
)
def test_pattern(top: Path, pattern: str, files: list[str]) -> None:
    write(top, *(f"manifests/{file}" for file in ("a.yaml", "b.yaml", "sub/a.yaml", "sub/c.json", "sub/deep/a.yaml")))
    write(top, "manifests/README.md", "manifests/.hidden.yaml")
    found, _ = read(pattern, recursive=False)
    assert [file.removeprefix("./") for file in found] == [f"manifests/{file}" for file in files]
    assert read(f"{top}/{pattern}")[0] == [f"{top}/manifests/{file}" for file in files]


@pytest.mark.parametrize("pattern", ["*.yaml", "no/*.yaml", "[", "a[b", "/nowhere-*/x.yaml"])
def test_pattern_without_a_match_is_an_error(top: Path, pattern: str) -> None:
    write(top, "a.json")
    (message,) = read(pattern)[0]
    assert message.startswith(f"{pattern}: no ")


def test_name_that_looks_like_a_pattern(top: Path) -> None:
    write(top, "a[1].yaml", "a1.yaml")
    assert read("a[1].yaml") == (["a[1].yaml"], {})


@pytest.mark.parametrize(
    "url",
    ["https://example.com/a.yaml", "HTTP://x", "oci://example.com/chart", "git::https://x/y", "https://x/?a=[b]*"],
)
def test_url(top: Path, url: str) -> None:
    (message,) = read(url)[0]
    assert message == f"{url}: URLs are not fetched; download the file, or pipe it and name -"


def test_folder_in_which_everything_is_skipped(top: Path) -> None:
    write(top, "a.yaml", ".b.yaml", ".c.yaml")
    assert read(".", exclude=("a.yaml",))[0] == [".: every file here is skipped (2 hidden, 1 excluded by --exclude)"]


@pytest.mark.slow
def test_walk_takes_linear_time(top: Path) -> None:
    (top / ".git").mkdir()
    (top / ".gitignore").write_text("".join(f"*.x{number}\n/y{number}/\n" for number in range(100)))

    def prepared(size: int) -> Callable[[], object]:
        folder = top / str(size)
        write(folder, *(f"{number % 7}/{number}.yaml" for number in range(size)))
        return lambda: read(str(folder))

    assert_linear(prepared, 64, 1024)


def test_named_files_as_in_a_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, ".github/a.yaml", "chart/Chart.yaml", "chart/templates/deep/a.yaml", "over/patch.yaml", "b.txt")
    kept, skipped = read(".")
    named = [str(path.relative_to(repository)) for path in repository.rglob("*.[jy]*") if ".git/" not in str(path)]
    given = list(sources(named, False, io.BytesIO(), (), as_in_folder=True))
    assert {one.file for one in given if isinstance(one, Source)} == {file.removeprefix("./") for file in kept}
    assert {one.reason for one in given if isinstance(one, Unread)} == set(skipped.values())
    assert not any(one.named for one in given if isinstance(one, Source))
    # From outside, the folder of the file is what counts.
    monkeypatch.chdir(repository / "sub")
    (outside, missing) = sources(["../chart/Chart.yaml", "gone.yaml"], False, io.BytesIO(), (), as_in_folder=True)
    assert outside == Unread("../chart/Chart.yaml", Reason.CHART.value)
    assert str(missing) == "gone.yaml: no such file or folder"
