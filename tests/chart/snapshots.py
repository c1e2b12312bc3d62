"""The rendered chart in each mode, as files. Run as a module, it writes them.

The default mode is stored completely, and those without the webhook; the others as differences to the default mode. The
policies of the API server are left out: their expressions are in the chart's files/policies.json.
"""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

from tests.chart.render import MODES, WEBHOOK_MODES, rendered
from webhook import __version__

FOLDER = Path(__file__).parent / "snapshots"
_DEFAULT = "default"


def current() -> dict[str, str]:
    """The snapshots by file name."""
    lines = {mode: _lines(mode) for mode in MODES}
    usual = lines.pop(_DEFAULT)
    changed = {f"{mode}.diff": _changes(usual, found) for mode, found in lines.items() if mode in WEBHOOK_MODES}
    others = {f"{mode}.yaml": _whole(found) for mode, found in lines.items() if mode not in WEBHOOK_MODES}
    return {f"{_DEFAULT}.yaml": _whole(usual), **changed, **others}


def _whole(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _lines(mode: str) -> list[str]:
    """The rendered lines without the product's version, which changes with each release, and without blanks."""
    objects = rendered(mode).replace(__version__, "VERSION").split("\n---\n")
    lines = "\n---\n".join(text for text in objects if not _is_policy(text)).splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def _is_policy(text: str) -> bool:
    return bool(re.search(r"^kind: \w+AdmissionPolicy$", text, re.MULTILINE)) and "component: policies" in text


def _changes(before: list[str], after: list[str]) -> str:
    found = [line.rstrip() for line in unified_diff(before, after, n=2, lineterm="")]
    return "\n".join(line if not line.startswith("@@") else "@@" for line in found[2:]) + "\n"


def stored() -> dict[str, str]:
    """The committed snapshots."""
    return {file.name: file.read_text() for file in FOLDER.iterdir()}


def main() -> None:
    """Write the files, and remove those of former modes."""
    FOLDER.mkdir(exist_ok=True)
    for name in stored():
        (FOLDER / name).unlink()
    for name, text in current().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
