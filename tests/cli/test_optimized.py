"""Commands under an interpreter without docstrings and asserts, as with PYTHONOPTIMIZE=2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: m, image: x}]}\n"
_SETTINGS = "limits: {timeSlicing: {perContainer: 1}}\nnamespaces: [{names: [a], mode: warn}]\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("check", "pod.yaml"), 0, "1 object: 1 allowed"),
        (("serve", "--config", "settings.yaml"), 2, "serve: no certificate: give --tls-cert"),  # after all else is read
    ],
)
def test_command_works_without_docstrings(command: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(_POD)
    (tmp_path / "settings.yaml").write_text(_SETTINGS)
    program = [sys.executable, "-OO", "-m", "webhook", *command]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr
