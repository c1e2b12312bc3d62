"""A build backend that names a source distribution and builds nothing: pip asks one before it keeps the archive."""

from __future__ import annotations

from pathlib import Path


def get_requires_for_build_wheel(_settings: object = None) -> list[str]:
    """Nothing is needed."""
    return []


def prepare_metadata_for_build_wheel(folder: str, _settings: object = None) -> str:
    """Write the name and the version of PKG-INFO, and return the name of their folder."""
    lines = Path("PKG-INFO").read_text(encoding="utf-8", errors="replace").splitlines()
    fields = dict(line.split(": ", 1) for line in reversed(lines) if line.startswith(("Name: ", "Version: ")))
    made = Path(folder, f"{fields['Name'].replace('-', '_')}-{fields['Version']}.dist-info")
    made.mkdir()
    said = f"Metadata-Version: 2.1\nName: {fields['Name']}\nVersion: {fields['Version']}\n"
    (made / "METADATA").write_text(said, encoding="utf-8")
    return made.name
