"""What the tests did and what they did not, from the records of all runs of pytest.

`python -m tests.summary FOLDER REASON=FILES ...`: the reasons for which other files of tests did not run.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.record import Record, read

_ROOT = Path(__file__).parents[1]


def lines(records: Iterable[Record], files: Iterable[str], reasons: dict[str, list[str]]) -> Iterator[str]:
    """The lines of a summary of the records, among all files of tests. `reasons` name beginnings of files not run."""
    tests, skipped, left_out = Counter[str](), Counter[str](), set[str]()
    for record in records:
        tests.update(record.tests)
        left_out.update(record.left_out)
        skipped.update(record.skipped)
    collected = tests.keys() | {test.partition("::")[0] for test in left_out}
    missing = [file for file in files if file not in collected]
    if not missing and not left_out and not skipped:
        yield f"{tests.total()} tests ran, and none was left out."
        return
    yield f"{tests.total()} tests ran. Did not run:"
    for reason, beginnings in reasons.items():
        if any(file.startswith(tuple(beginnings)) for file in missing):
            yield f"  {', '.join(beginnings)}: {reason}"
        missing = [file for file in missing if not file.startswith(tuple(beginnings))]
    yield from (f"  {file}" for file in missing)
    if left_out:
        yield f"  {len(left_out)} exhaustive tests: make test-all"
    yield from (f"  {count} tests: {reason}" for reason, count in skipped.items())


def main() -> int:
    """Print the summary of the records in a folder."""
    folder, *given = sys.argv[1:]
    reasons = {reason: files.split() for reason, _, files in (one.partition("=") for one in given)}
    files = sorted(str(file.relative_to(_ROOT)) for file in (_ROOT / "tests").rglob("test_*.py"))
    for line in lines(map(read, sorted(Path(folder).glob("*.json"))), files, reasons):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
