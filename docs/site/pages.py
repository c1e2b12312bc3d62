"""Which files of the repository are pages of the site, and where they stand in it."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
CONFIG = Path(__file__).parent / "mkdocs.yml"
OUTSIDE = {
    "webhook/policy/checks/gps*.md": "reference/checks",
    "webhook/policy/injections/*.md": "reference/injections",
    "charts/gpushare-webhook/README.md": "reference/chart.md",
    "CHANGELOG.md": "develop/changelog.md",
    "CONTRIBUTING.md": "develop/contributing.md",
    "GOVERNANCE.md": "develop/governance.md",
    "SECURITY.md": "develop/security.md",
}
"""The places in the site of pages outside docs/."""


@cache
def pages() -> dict[str, str]:
    """Return the path in the repository of each page, by its place in the site."""
    docs = {file.relative_to(ROOT / "docs").as_posix(): file for file in (ROOT / "docs").rglob("*.md")}
    inside = {place: file for place, file in docs.items() if not place.startswith("prose/")}
    found = [(file, place) for pattern, place in OUTSIDE.items() for file in ROOT.glob(pattern)]
    outside = {place if place.endswith(".md") else f"{place}/{file.name}": file for file, place in found}
    return {place: file.relative_to(ROOT).as_posix() for place, file in sorted({**inside, **outside}.items())}


def config() -> dict[str, Any]:
    """Return the configuration of the site, with the pages that the patterns of its navigation stand for."""
    settings: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    return {**settings, "nav": list(_expanded(settings["nav"], set(places(settings["nav"]))))}


def places(entry: Any) -> Iterator[str]:
    """Yield the pages of a navigation, or of an entry of it."""
    if isinstance(entry, str):
        yield entry
    for below in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from places(below)


def _expanded(entries: list[Any], named: set[str]) -> Iterator[Any]:
    for entry in entries:
        if isinstance(entry, dict):
            yield {key: list(_expanded(val, named)) if isinstance(val, list) else val for key, val in entry.items()}
        elif entry.endswith("/*"):
            yield from ({_short(page): page} for page in pages() if page not in named and fnmatch(page, entry))
        else:
            yield entry


def _short(page: str) -> str:
    """Return the name of a page in a long list: the code of a check, or the name of an injection or alert."""
    stem = PurePosixPath(page).stem
    return stem.upper() if stem.startswith("gps") else stem
