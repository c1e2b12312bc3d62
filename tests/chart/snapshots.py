"""The rendered chart in each mode, as files. Run as a module, it writes them.

The default mode is stored completely; each other mode as differences to it, or completely where that is shorter.
"""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

from tests.chart.render import MODES, rendered, undigested
from webhook import __version__

FOLDER = Path(__file__).parent / "snapshots"
_DEFAULT = "default"


def current() -> dict[str, str]:
    """The snapshots by file name."""
    lines = {mode: _lines(mode) for mode in MODES}
    usual = lines.pop(_DEFAULT)
    files = {f"{_DEFAULT}.yaml": _whole(usual)}
    for mode, found in lines.items():
        whole, changes = _whole(found), _changes(usual, found)
        files |= {f"{mode}.yaml": whole} if len(whole) < len(changes) else {f"{mode}.diff": changes}
    return files


def _whole(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _lines(mode: str) -> list[str]:
    """The rendered lines without the product's version and the digest, which change with each release, and blanks."""
    lines = undigested(rendered(mode)).replace(__version__, "VERSION").splitlines()
    return [line.rstrip() for line in lines if line.strip()]


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
