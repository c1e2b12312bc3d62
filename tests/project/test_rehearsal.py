"""What the rehearsal of a release states without running one: the provenance, and what it left behind."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from release.image.provenance import main, predicate
from release.rehearsal import left
from release.rehearsal.guide import FailedError

SOURCE = "https://git.example.com/gpushare"
DIGEST = "0" * 64


def test_provenance_names_commit_and_base_by_digest() -> None:
    made = predicate(f"debian@sha256:{DIGEST}", "1.0.0", SOURCE, "abc", datetime(2026, 1, 2, tzinfo=UTC))
    assert made["buildDefinition"]["resolvedDependencies"] == [
        {"uri": f"git+{SOURCE}@abc", "digest": {"gitCommit": "abc"}},
        {"uri": "docker://debian", "digest": {"sha256": DIGEST}},
    ]
    assert made["runDetails"]["metadata"] == {"finishedOn": "2026-01-02T00:00:00Z"}


@pytest.mark.parametrize("words", [["debian:trixie-slim", "1.0.0", SOURCE], []])
def test_provenance_needs_base_by_digest(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage: python -m release.image.provenance BASE VERSION SOURCE" in capsys.readouterr().err


def test_rehearsal_names_folder_and_process_that_it_left(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=f"the folder {tmp_path}"):
        left.check(tmp_path)
    gone = tmp_path / "gone"
    left.check(gone)
    command = [sys.executable, "-c", "input()", str(gone)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as process,
        pytest.raises(FailedError, match=f"{process.pid}: "),
    ):
        left.check(gone)
