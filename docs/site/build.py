"""Build the site of this version beside those of others, and the list of versions. `make site` runs it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from packaging.version import Version

from docs.site.pages import ROOT, config, pages
from docs.site.text import converted
from webhook import __version__

BUILD = ROOT / "build"
SITE = BUILD / "site"
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={0}/">
<title>gpushare-webhook</title>
<link rel="icon" href="data:,">
<a href="{0}/">gpushare-webhook {0}</a>
"""
_ELSEWHERE = r"""["']?\s*(?:https?:)?//[^>;]*"""
EXTERNAL = re.compile(
    rf"<(?:script|img|iframe)\b[^>]*\bsrc\s*=\s*{_ELSEWHERE}>"
    r"|<link\b(?=[^>]*\brel\s*=\s*[\"']?[^\"'>]*\b(?:stylesheet|\w*preload|prefetch|preconnect|icon|manifest)\b)"
    rf"[^>]*\bhref\s*=\s*{_ELSEWHERE}>"
    rf"|@import\s*(?:url\(\s*)?{_ELSEWHERE};",
    re.IGNORECASE,
)
"""An element or a rule of styles that loads from another server, with its attributes in any order."""


def main() -> int:
    """Build the site, and return the exit status: that of the builder, or 1 if a page loads from another server."""
    source = BUILD / "site-source"
    shutil.rmtree(source, ignore_errors=True)
    write_source(source)
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=source)
    if built.returncode:
        return built.returncode
    loads = external(source / "site")
    if loads:
        print("\n".join(loads), file=sys.stderr)
        return 1
    shutil.rmtree(SITE / __version__, ignore_errors=True)
    shutil.copytree(source / "site", SITE / __version__)
    write_versions(SITE)
    print(f"serve it with: python3 -m http.server --directory {SITE.relative_to(ROOT)}")
    return 0


def write_source(folder: Path) -> None:
    """Write the pages, their pictures and the configuration for the builder."""
    docs = folder / "docs"
    for place, file in pages().items():
        page = docs / place
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(converted((ROOT / file).read_text(encoding="utf-8"), place), encoding="utf-8")
    for picture in (ROOT / "docs").rglob("*.svg"):
        shutil.copy(picture, docs / picture.relative_to(ROOT / "docs"))
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config(), sort_keys=False), encoding="utf-8")


def external(site: Path) -> list[str]:
    """Return each page or style that loads from another server, with the element or the rule that does."""
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    found = ((file, EXTERNAL.search(file.read_text(encoding="utf-8"))) for file in files)
    return [f"{file.relative_to(site)}: loads from another server: {load[0]}" for file, load in found if load]


def write_versions(site: Path) -> None:
    """List the versions of a folder for the selector of the pages, and lead visitors to the latest.

    The latest version is the newest final one, or the newest release candidate where no final one exists.
    """
    versions = sorted((page.parent.name for page in site.glob("*/index.html")), key=Version, reverse=True)
    latest = next((one for one in versions if not Version(one).is_prerelease), versions[0])
    listed = [{"version": one, "title": one, "aliases": ["latest"] if one == latest else []} for one in versions]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    (site / "index.html").write_text(REDIRECT.format(latest), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
