"""The exit codes: 0 nothing denied, 1 something denied, 2 wrong input, 3 internal error; the highest wins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

CODES = {
    "nothing denied": (["-f", "good.yaml"], 0),
    "empty": (["-f", "empty.yaml"], 2),
    "empty beside another": (["-f", "empty.yaml", "-f", "good.yaml"], 0),
    "no items": (["-f", "no-items.yaml"], 0),
    "warned": (["-f", "typo.yaml"], 0),
    "denied": (["-f", "pods.yaml"], 1),
    "malformed": (["-f", "malformed.yaml"], 2),
    "unreadable": (["-f", "unreadable.yaml"], 2),
    "missing": (["-f", "missing.yaml"], 2),
    "malformed and denied": (["-f", "pods.yaml", "-f", "malformed.yaml"], 2),
    "no file": ([], 2),
    "-f without a value": (["-f"], 2),
    "unknown option": (["-f", "good.yaml", "--bogus"], 2),
    "unknown format": (["-f", "good.yaml", "-o", "docx"], 2),
    "an argument": (["good.yaml"], 0),
    "an argument and -f": (["good.yaml", "-f", "pods.yaml"], 1),
}

TYPO = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpus: 1}}}]}}"


@pytest.fixture
def prepared(data: Path, here: Path) -> Path:
    for file in data.iterdir():
        (here / file.name).write_bytes(file.read_bytes())
    (here / "typo.yaml").write_text(TYPO)
    (here / "empty.yaml").write_text("# nothing\n")
    (here / "no-items.yaml").write_text("{apiVersion: v1, kind: List, items: []}\n")
    return here


@pytest.mark.parametrize("command", ["check", "mutate"])
@pytest.mark.parametrize("case", CODES)
def test_exit_code(prepared: Path, command: str, case: str) -> None:
    options, code = CODES[case]
    ended = run(command, *options)
    assert ended.code == code
    assert "Traceback" not in ended.err
    assert bool(ended.err) is (code == 2 or command == "mutate")


@pytest.mark.parametrize(("command", "module"), [("check", "dryrun.check"), ("mutate", "cli.mutate")])
def test_internal_error_has_no_traceback(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, command: str, module: str
) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError("::error::on\npurpose\x1b[31m")

    monkeypatch.setattr(f"webhook.{module}.evaluate", broken)
    ended = run(command, "-f", "good.yaml")
    assert (ended.code, ended.out) == (3, "")
    said = r"internal error: LookupError at test_exit_codes\.py:\d+: \?:error::on\?purpose\?\[31m; please report it\n"
    assert re.fullmatch(said, ended.err)


def test_internal_error_names_its_cause(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ExceptionGroup("several", [LookupError("::error::on\npurpose")])

    monkeypatch.setattr("webhook.dryrun.check.evaluate", broken)
    ended = run("check", "-f", "good.yaml")
    said = (
        r"internal error: ExceptionGroup at test_exit_codes\.py:\d+: several \(1 sub-exception\); "
        r"with LookupError: \?:error::on\?purpose; please report it\n"
    )
    assert re.fullmatch(said, ended.err)
