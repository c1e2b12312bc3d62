"""The site has every page and shows what GitHub shows, and the documentation stays short."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest

from docs.site.build import external, write_source, write_versions
from docs.site.pages import ROOT, config, pages, places
from docs.site.text import converted
from tests.project.repository import name, tracked

WORDS = 45_000
"""The most words of the documentation, as `wc -w` counts them."""

GENERATED_FROM = "docs/prose/"


def test_navigation_has_every_page_once() -> None:
    assert Counter(places(config()["nav"])) == Counter(list(pages()))


def test_every_committed_page_of_docs_is_in_site() -> None:
    committed = {name(file) for file in tracked("docs/*.md") if not name(file).startswith(GENERATED_FROM)}
    assert committed - set(pages().values()) == set()
    assert len(committed) > 40


def test_documentation_stays_short() -> None:
    words = Counter(
        {file: len((ROOT / file).read_text().split()) for file in pages().values() if file.startswith("docs/")}
    )
    assert words.total() <= WORDS, dict(words.most_common(10))


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        (
            "[GPS001](../../webhook/policy/checks/gps001.md#why) and [the license](../../LICENSE)\n",
            "reference/checks.md",
            "[GPS001](checks/gps001.md#why) and the license\n",
        ),
        (
            "- a\n  - b\n    c\n\n1. d\n   ```sh\n   e\n   ```\n",
            "index.md",
            "- a\n    - b\n        c\n\n1. d\n    ```sh\n    e\n    ```\n",
        ),
        ("## What `a.b` is: C\n", "index.md", "## What `a.b` is: C {#what-ab-is-c}\n"),
        ("# a\n\n```text\n# a\n```\n\n## A\n", "index.md", "# a {#a}\n\n```text\n# a\n```\n\n## A {#a-1}\n"),
        ("x\n\n<!-- exits: 2 -->\n```sh\ny\n```\n", "index.md", "x\n\n```sh\ny\n```\n"),
    ],
    ids=["links", "nested list", "anchor of GitHub", "second heading of one name", "comment about commands"],
)
def test_markdown_of_github_is_converted(text: str, place: str, shown: str) -> None:
    assert converted(text, place) == shown


@pytest.mark.parametrize(("place", "file"), pages().items())
def test_code_is_that_of_file(place: str, file: str) -> None:
    text = (ROOT / file).read_text()
    shown = [code for language, code in code_blocks(converted(text, place)) if language]
    assert shown == [code for language, code in code_blocks(text) if language not in ("", "mermaid")]


def code_blocks(text: str) -> list[tuple[str, str]]:
    """The language and the text of each code block."""
    found = re.findall(r"^( *)(`{3,})(\w*)[^\n]*\n(.*?)^\1\2$", text, re.MULTILINE | re.DOTALL)
    return [(language, dedent(code)) for _, _, language, code in found]


def test_source_has_pages_pictures_and_navigation(tmp_path: Path) -> None:
    write_source(tmp_path)
    written = {file.relative_to(tmp_path / "docs").as_posix() for file in (tmp_path / "docs").rglob("*.md")}
    assert written == set(pages())
    assert (tmp_path / "docs" / "pod-storm.svg").exists()
    assert "reference/checks/gps001.md" in (tmp_path / "mkdocs.yml").read_text()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('@import url("https://example.com/y.css");', 1),
        ('<script src="https://example.com/x.js"></script>', 1),
        ('<link rel="stylesheet" href="https://example.com/x.css">', 1),
        ("<link href=https://example.com/x.css rel=stylesheet>", 1),
        ("<link href='//example.com/x.css' media='all' rel='alternate stylesheet'>", 1),
        ('<link as="font" href="https://example.com/x.woff2" rel="preload">', 1),
        ('<link rel="modulepreload" href="https://example.com/x.js">', 1),
        ('<style>@import "https://example.com/x.css";</style>', 1),
        ("<style>@import url(//example.com/x.css);</style>", 1),
        ('<style>@import "x.css";</style>', 0),
        ('<link href="https://example.com/x" rel="canonical"><link href="x.css" rel="stylesheet">', 0),
        ('<link rel="preload" href="x.css"><a href="https://example.com/">x</a>', 0),
        ('<a href="https://example.com/">x</a><script src="x.js"></script>', 0),
    ],
)
def test_file_that_loads_from_another_server_is_found(text: str, count: int, tmp_path: Path) -> None:
    file = "index.html" if text.startswith("<") else "x.css"
    (tmp_path / file).write_text(text)
    assert [one.startswith(f"{file}: loads from another server: ") for one in external(tmp_path)] == [True] * count


@pytest.mark.parametrize(
    ("versions", "latest"),
    [
        (("7.10.0", "7.9.0-dev.2", "7.1.0", "7.1.0-rc.1"), "7.10.0"),
        (("7.2.0-rc.1", "7.1.0", "7.1.0-rc.1"), "7.1.0"),
        (("7.1.0-rc.2", "7.1.0-rc.1"), "7.1.0-rc.2"),
    ],
)
def test_newest_final_version_is_latest(versions: tuple[str, ...], latest: str, tmp_path: Path) -> None:
    for version in reversed(versions):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    write_versions(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert tuple(one["version"] for one in listed) == versions
    assert [one["version"] for one in listed if one["aliases"] == ["latest"]] == [latest]
    assert f'url={latest}/"' in (tmp_path / "index.html").read_text()
