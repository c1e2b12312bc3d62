"""Write the recorded reports."""

from __future__ import annotations

from tests.report.golden import ARGUMENTS, RECORDED, folder, report

RECORDED.mkdir(exist_ok=True)
for old in RECORDED.iterdir():
    old.unlink()
with folder():
    for name in ARGUMENTS:
        (RECORDED / f"{name}.txt").write_text(report(name))
