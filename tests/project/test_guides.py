"""The guides for contributors work: their files and commands, in a clone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project import page_shell
from tests.project.clone import copied, reader
from tests.project.pages import Block, page_block
from tests.project.repository import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

CHECK, SETTING = ROOT / "docs/how-to/add-a-check.md", ROOT / "docs/how-to/add-a-setting.md"


def insert(file: Path, before: str, line: str) -> None:
    """Insert a line before the only text of its kind in a file."""
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, line + before))


def run(blocks: list[Block], folder: Path, shell: list[str]) -> None:
    ran = page_shell.run(blocks, folder, folder.parent / "record", shell, reader(folder))
    for block, result in zip(blocks, ran, strict=True):
        assert result.failed == [], f"{block.where}: {result.out}{result.err}"


def test_guide_adds_check(clone: Path, alone: list[str], tmp_path: Path) -> None:
    folder, page = copied(clone, tmp_path), CHECK.read_text()
    files = re.findall(r"^`([\w./-]+)`:\n\n(`{3,})\w+\n(.*?)^\2$", page, re.MULTILINE | re.DOTALL)
    assert len(files) == 4
    for path, _, content in files:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(content)
    ((entry, module),) = re.findall(r'^(Check\("GPS900", .* (gps900_\w+)\.run, .*\),)$', page, re.MULTILINE)
    registry = folder / "webhook/policy/checks/__init__.py"
    insert(registry, ")\nfrom webhook.policy.checks.check", f"    {module},\n")
    insert(registry, ')\n"""The checks of each pod."""', f"    {entry}\n")
    (change,) = re.findall(r'^\("GPS900", .*\),$', page, re.MULTILINE)
    insert(folder / "tests/policy/checks/test_remedies.py", ']\n"""By code, what a remedy says', f"    {change}\n")
    generate = page_block("docs/how-to/add-a-check.md", "make docs")
    run([generate, page_block("docs/how-to/add-a-check.md", "tests/contract")], folder, alone)
    assert "checks/gps900.md)" in (folder / "docs/reference/checks.md").read_text()
    assert "hostNetwork: true exposes" in (folder / "webhook/policy/checks/gps900.md").read_text()


def test_guide_adds_setting(clone: Path, alone: list[str], tmp_path: Path) -> None:
    folder = copied(clone, tmp_path)
    (field,) = re.findall(r"^(backlog: .*)$", SETTING.read_text(), re.MULTILINE)
    insert(folder / "webhook/settings/configuration.py", "    drain_timeout:", f"    {field}\n")
    insert(folder / "tests/settings/data/defaults.yaml", "drainTimeout:", "backlog: 128, ")
    generate = page_block("docs/how-to/add-a-setting.md", "make docs charts")
    run([generate, page_block("docs/how-to/add-a-setting.md", "tests/settings")], folder, alone)
    assert "backlog" in (folder / "docs/reference/settings.md").read_text()
