"""One repository through the real command line: its report, or the reason why there is none."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from survey.repositories import Repository
from webhook.diagnostics import LINE
from webhook.policy.messages import printable
from webhook.policy.workloads.kinds import group_of
from webhook.report.exit_codes import ExitCode

PROGRAM = Path(sys.executable).with_name("gpushare-webhook")


Identity: TypeAlias = tuple[str, int, int, str, str, str]
"""The file, document and line of an object, its apiVersion, kind and name."""


class Finding(msgspec.Struct, frozen=True):
    """What a check reports, at a line of the file."""

    code: str
    severity: str
    line: int
    message: str


class Object(msgspec.Struct, frozen=True, rename="camel"):
    """The identity of an object."""

    api_version: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


class Result(msgspec.Struct, frozen=True):
    """The verdict for an object."""

    file: str
    document: int
    line: int
    object: Object
    decision: str
    findings: list[Finding]
    omitted: dict[str, int] = {}
    reason: str = ""

    @property
    def group(self) -> str:
        """The API group of the object; empty for the core group."""
        return group_of(self.object.api_version)

    @property
    def place(self) -> str:
        """The place of the object and its name, for people."""
        return f"{self.file}:{self.line} {self.object}"

    @property
    def identity(self) -> Identity:
        """The place of the object and its name, for comparison."""
        return self.file, self.document, self.line, self.object.api_version, self.object.kind, self.object.name


class Error(msgspec.Struct, frozen=True):
    """A part of the input that cannot be read. `line` is 0 where it is the whole file."""

    file: str
    line: int
    message: str

    @property
    def place(self) -> str:
        """The file, and the line if the error is about one."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Assumed(msgspec.Struct, frozen=True):
    """How many findings depend on the assumption about a cluster that nothing describes."""

    findings: int = 0


class Report(msgspec.Struct, frozen=True):
    """The parts of a CheckReport that are counted."""

    results: list[Result]
    errors: list[Error]
    assumed: Assumed = Assumed()


class FailedError(Exception):
    """`check` ended without a report: it crashed, ran into the time limit, or refused its arguments."""


def check(repository: Repository, options: Sequence[str], limit: float) -> Report:
    """Run `check` over a repository for at most `limit` seconds. Raises FailedError."""
    command = [str(PROGRAM), "check", "-f", str(repository.path), "-o", "json", *options]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            status = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=limit, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            raise FailedError(f"check takes longer than {limit:g} s") from None
        if status not in (ExitCode.OK, ExitCode.DENIED, ExitCode.WRONG_INPUT):
            raise FailedError(_ended(status, err))
        out.seek(0)
        try:
            return msgspec.json.decode(out.read(), type=Report)
        except msgspec.DecodeError as error:
            raise FailedError(f"{_ended(status, err)}; no report: {error}") from None


def _ended(status: int, err: IO[bytes]) -> str:
    """How the process ended: its exit status or signal, and the last line of its standard error."""
    end = err.seek(0, 2)
    err.seek(max(0, end - LINE))
    *_, last = ["", *err.read().decode(errors="replace").splitlines()]
    how = f"check ends with {status}" if status >= 0 else f"check is killed by signal {-status}"
    return printable(f"{how}: {last}" if last else how, LINE)
