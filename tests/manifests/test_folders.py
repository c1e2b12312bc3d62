"""Which files of a folder are read, and why the others are not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.manifests.repositories import read, write
from webhook.manifests import Reason
from webhook.manifests.recognition import KUSTOMIZATION_FILES


def test_extensions(top: Path) -> None:
    write(top, "a.yaml", "b.yml", "c.json", "d.jsonl", "e.ndjson", "f.txt", "g.yaml.bak", "h", "i.YAML", "j.yaml/k")
    assert read(".") == (["./a.yaml", "./b.yml", "./c.json", "./d.jsonl", "./e.ndjson"], {})


def test_files_are_sorted_by_folder(top: Path) -> None:
    write(top, "c.yaml", "a.yml", "b.json", "b/one.yaml", "b/deep/two.yaml")
    assert read(".") == (["./a.yml", "./b/deep/two.yaml", "./b/one.yaml", "./b.json", "./c.yaml"], {})


def test_files_and_folders_that_begin_with_a_dot_are_read(top: Path) -> None:
    write(top, "a.yaml", ".b.yaml", ".txt", ".github/workflows/c.yaml", ".gpushare.yaml")
    files = ["./.b.yaml", "./.github/workflows/c.yaml", "./.gpushare.yaml", "./a.yaml"]
    assert read(".") == (files, {})
    assert read("*.yaml")[0] == ["./.b.yaml", "./.gpushare.yaml", "./a.yaml"]


def test_links_to_folders(top: Path) -> None:
    write(top, "a/b.yaml")
    (top / "a" / "c").symlink_to("..")
    (top / "a" / "d.yaml").symlink_to("../a")
    assert read(".") == (["./a/b.yaml"], {"./a/c/": Reason.LINK, "./a/d.yaml/": Reason.LINK})
    assert read("a/*.yaml") == (["a/b.yaml"], {})
    assert read(".", exclude=("c", "d.yaml/")) == (
        ["./a/b.yaml"],
        {"./a/c/": Reason.EXCLUDED, "./a/d.yaml/": Reason.EXCLUDED},
    )


OUT = ("../else.yaml", "/dev/zero", "/dev/ptmx", "/dev/stdin", "/proc/self/environ", "/nowhere", "../here.yaml/x")


@pytest.mark.parametrize("target", OUT)
def test_links_out_of_the_folder_are_skipped(top: Path, target: str) -> None:
    write(top, "else.yaml", "here/a.yaml", "here/below/b.yaml")
    (top / "here" / "below" / "out.yaml").symlink_to(top / "here" / target)
    (top / "here" / "below" / "kustomization.yaml").symlink_to(top / "here" / target)
    files, skipped = read("here")
    assert files == ["here/a.yaml", "here/below/b.yaml"]
    assert skipped == {"here/below/kustomization.yaml": Reason.OUTSIDE, "here/below/out.yaml": Reason.OUTSIDE}


def test_links_within_the_folder_are_read(top: Path) -> None:
    write(top, "a.yaml", "below/data", "below/deep/x")
    (top / "below" / "deep" / "b.yaml").symlink_to("../../a.yaml")
    (top / "below" / "c.yaml").symlink_to(top / "below" / "data")
    assert read(".") == (["./a.yaml", "./below/c.yaml", "./below/deep/b.yaml"], {})
    # Named is another folder: the link leads out of it.
    assert read("below/deep")[1] == {"below/deep/b.yaml": Reason.OUTSIDE}
    # A folder that is named by a link is the one that it leads to.
    (top / "link").symlink_to("below")
    assert read("link")[0] == ["link/c.yaml"]


def test_link_to_what_git_keeps_is_no_part_of_the_folder(top: Path) -> None:
    write(top, "a.yaml", "sub/.git/config")
    (top / "b.yaml").symlink_to("sub/.git/config")
    assert read("a.yaml", "*.yaml")[1] == {"./b.yaml": Reason.OUTSIDE}


def test_links_that_lead_nowhere_in_the_folder_are_errors(top: Path) -> None:
    write(top, "d.yaml")
    (top / "a.yaml").symlink_to("a.yaml")
    (top / "b.yaml").symlink_to("c.yaml")
    (top / "c.yaml").symlink_to("b.yaml")
    (top / "e.yaml").symlink_to("nothing.yaml")
    (top / "f").symlink_to("f")
    loop = "too many levels of symbolic links"
    files, skipped = read(".")
    assert files == [*(f"./{name}.yaml: {loop}" for name in "abc"), "./d.yaml", "./e.yaml: no such file or folder"]
    assert skipped == {}
    assert read(".", exclude=("[a-c].yaml", "e.yaml"))[0] == ["./d.yaml"]


def test_chain_of_links_that_is_too_long_is_an_error(top: Path) -> None:
    for number in range(3000):
        (top / f"{number}.yaml").symlink_to(f"{number + 1}.yaml")
    (top / "3000.yaml").symlink_to("/etc/hosts")
    files, skipped = read(".")
    assert set(skipped.values()) == {Reason.OUTSIDE}
    assert {file.partition(": ")[2] for file in files} == {"too many levels of symbolic links"}
    assert len(files) + len(skipped) == 3001
    assert len(files) > 2900


def test_what_is_not_regular_is_skipped(top: Path) -> None:
    write(top, "a.yaml")
    os.mkfifo(top / "b.yaml")
    (top / "c.yaml").symlink_to("b.yaml")
    os.mkfifo(top / "d.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("e.yaml")
        assert read(".") == (["./a.yaml"], dict.fromkeys(("./b.yaml", "./c.yaml", "./e.yaml"), Reason.IRREGULAR))


@pytest.mark.parametrize("name", [*KUSTOMIZATION_FILES, "Chart.yaml", ".gitignore", ".gpushare.yaml"])
def test_pipes_that_say_what_is_skipped_are_not_waited_for(top: Path, name: str) -> None:
    write(top, "a.yaml")
    os.mkfifo(top / name)
    files, skipped = read(".")
    assert files == ["./a.yaml"]
    assert set(skipped) == (set() if name == ".gitignore" else {f"./{name}"})  # which has no name of a manifest


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
    write(top, "manifests/README.md")
    found, _ = read(pattern)
    assert [file.removeprefix("./") for file in found] == [f"manifests/{file}" for file in files]
    assert read(f"{top}/{pattern}")[0] == [f"{top}/manifests/{file}" for file in files]


@pytest.mark.parametrize("pattern", ["*.yaml", "no/*.yaml", "[", "a[b", "/nowhere-*/x.yaml"])
def test_pattern_without_a_match_is_an_error(top: Path, pattern: str) -> None:
    write(top, "a.json")
    (message,) = read(pattern)[0]
    assert message == f"{pattern}: no .json, .jsonl, .ndjson, .yaml or .yml file matches this pattern"


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
    write(top, "a.yaml", "b/Chart.yaml", "b/values.yaml")
    message = ".: every file here is skipped (2 part of a Helm chart, 1 excluded by --exclude)"
    assert read(".", exclude=("a.yaml",))[0] == [f"{message}; pipe `helm template` and name - instead"]
