"""The releases against which pages were checked: the page of all claims, and a paragraph of each page with some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from claims.data import Claim, load

_ROOT = Path(__file__).parent.parent
_PARAGRAPH = re.compile(r"^<!-- claims -->\n(?:.+\n)+", re.MULTILINE)


def page() -> str:
    """Return the page of all claims."""
    _, claims = load()
    lines = [
        "# Claims about other projects",
        "",
        "The checks and pages rely on these releases of other projects. `claims/claims.toml` has each claim, with the",
        "file that shows it. `make claims` checks the releases, and `make claims NEWEST=1` lists what newer ones",
        "changed. No registry serves the releases with a commit, which were read in clones.",
        "",
    ]
    for source in dict.fromkeys(claim.source.name for claim in claims):
        own = [claim for claim in claims if claim.source.name == source]
        releases = ", ".join(dict.fromkeys(map(_release, own)))
        lines.append(f"- **{own[0].source.repository}** ({len(own)}): {releases}")
    return "\n".join([*lines, ""])


def _release(claim: Claim) -> str:
    commit = claim.source.recorded.get(claim.release)
    return claim.release if commit is None else f"{claim.release} at {commit}"


def pages() -> dict[Path, str]:
    """Return the pages that name the releases of their claims, by file."""
    _, claims = load()
    used: dict[str, list[Claim]] = {}
    for claim in claims:
        for file in {file for file, _ in claim.used if file.startswith("docs/")}:
            used.setdefault(file, []).append(claim)
    found = {}
    for file, own in sorted(used.items()):
        text = (_ROOT / file).read_text(encoding="utf-8")
        if (paragraph := _PARAGRAPH.search(text)) is not None:
            found[_ROOT / file] = text.replace(paragraph[0], _checked(own))
    return found


def _checked(claims: Sequence[Claim]) -> str:
    releases = sorted({f"{claim.source.repository} {_release(claim)}" for claim in claims})
    said = f"Last checked against {', '.join(releases)} ([claims](../../reference/claims.md))."
    return "<!-- claims -->\n" + "\n".join(wrap(said, 120, break_long_words=False, break_on_hyphens=False)) + "\n"
