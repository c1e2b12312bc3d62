"""What every report keeps to, whatever text it holds."""

from __future__ import annotations

import re

from webhook.report.check import CheckFormat

_PROPERTY = r"(?:[^%:,\r\n]|%25|%0A|%0D|%3A|%2C)*"
_ANNOTATION = re.compile(
    rf"::(?:error|warning|notice) (?:file={_PROPERTY},)?(?:line=[0-9]+,col=[0-9]+,)?title={_PROPERTY}::"
    r"(?:[^%\r\n]|%25|%0A|%0D)*"
)


def assert_safe_lines(text: str) -> None:
    """Check that all lines are printable, and that no CI system takes one for a command."""
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)
        assert not line.lstrip().startswith("::"), line
        for command in ("##[", "##vso[", "##teamcity["):
            assert command not in line, line


def assert_safe_report(text: str, written: CheckFormat) -> None:
    """Check a report. In that for GitHub, each line is one annotation, whose text cannot end it or begin another."""
    if written is not CheckFormat.GITHUB:
        assert_safe_lines(text)
        return
    for line in text.splitlines():
        assert _ANNOTATION.fullmatch(line), line
        assert_safe_lines(line.removeprefix("::"))
