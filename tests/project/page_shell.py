"""One shell that runs the blocks of a page in order, as a reader does who types them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.project.pages import Block

# A failed command is noted and does not end the shell, as at a prompt. The last line shows that nothing did.
_HEAD = """\
cd "$FOLDER" || exit
set -o pipefail
exec 3> "$RECORD/failed"
trap 'echo "$BLOCK $? $BASH_COMMAND" | head -n 1 >&3' ERR
"""
_BLOCK = """\
BLOCK={number}
exec > "$RECORD/{number}.out" 2> "$RECORD/{number}.err"
{script}
"""
_SERVER = """\
{{
{script}
}} &
if ! curl --silent --output /dev/null --fail --retry 60 --retry-delay 1 --retry-connrefused {url}; then
  echo "nothing answers at {url}" >&2
  exit 1
fi
"""
_END = 'touch "$RECORD/end"\n'


@dataclass(frozen=True, slots=True)
class Ran:
    """What a block did: its output, its error output, and each command that failed, after its exit status."""

    out: str
    err: str
    failed: list[str]

    @property
    def exits(self) -> list[int]:
        """The exit statuses of the failed commands."""
        return [int(line.split()[0]) for line in self.failed]


def run(
    blocks: Sequence[Block], folder: Path, record: Path, command: Sequence[str], environment: Mapping[str, str]
) -> list[Ran]:
    """Run blocks in a folder by a command that ends in `bash`, and keep their output in the folder `record`.

    Raises `AssertionError` when the shell ends before the last block.
    """
    record.mkdir()
    script = record / "script"
    parts = [_BLOCK.format(number=number, script=_script(block)) for number, block in enumerate(blocks)]
    script.write_text("".join((_HEAD, *parts, _END)))
    subprocess.run(
        [*command, str(script)],
        env={**environment, "FOLDER": str(folder), "RECORD": str(record)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=900,
        check=False,
    )
    failed = (record / "failed").read_text().splitlines()
    ran = [
        Ran(
            _read(record / f"{number}.out"),
            _read(record / f"{number}.err"),
            [line.partition(" ")[2] for line in failed if line.startswith(f"{number} ")],
        )
        for number in range(len(blocks))
    ]
    assert (record / "end").exists(), f"the shell ended early: {ran}"
    return ran


def _script(block: Block) -> str:
    """The script of a block; that of a server continues in the background once it answers."""
    url = block.notes.get("serves")
    return block.script if url is None else _SERVER.format(script=block.script, url=url)


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def check(block: Block, ran: Ran) -> None:
    """Compare what a block did with what its page says. Raises `AssertionError`."""
    assert ran.exits == block.exits, f"{block.where}: {ran.failed}\n{ran.err}"
    if block.output is not None:
        assert ran.out == block.output, block.where
