"""Committed files contain no registry host, no path of a developer's machine, and no private key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.project.repository import name, tracked

# Spelled so that this file does not match itself.
REGISTRY = re.compile(
    r"""
      p[y]pi\.  | python[h]osted | test[.]p[y]pi | conda[.]anaconda | npm[j]s | crates[.]i[o] | proxy[.]golan[g]
    | --(extra-)?index[-]url | (PIP|UV)_(EXTRA_|DEFAULT_)?INDEX[_] | --find[-]links | ^\s*-i\s+https?:
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
MACHINE = re.compile(r"(?<![\w.$}~/-])/(?:wor[k]|roo[t]|hom[e]|User[s])/")
KEY = re.compile(r"-----BEGIN[ ](?:\w+ )?PRIVATE KEY-----\n")


def offences(pattern: re.Pattern[str], files: Iterable[Path]) -> list[str]:
    """The lines of files that match a forbidden pattern."""
    texts = ((file, file.read_bytes().decode(errors="replace")) for file in files)
    lines = ((file, line) for file, text in texts for line in text.splitlines(keepends=True))
    return [f"{file}: {line}" for file, line in lines if pattern.search(line)]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (REGISTRY, "pip install --index" + "-url https://example.com/simple"),
        (REGISTRY, "https://py" + "pi.org/simple"),
        (REGISTRY, "https://files.python" + "hosted.org/x"),
        (MACHINE, "see /ro" + "ot/.config"),
        (MACHINE, '"/wo' + 'rk/x"'),
        (KEY, "-----BEGIN " + "PRIVATE KEY-----\n"),
    ],
)
def test_offence_is_found(pattern: re.Pattern[str], line: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(f"before\n{line}")
    assert offences(pattern, [file]) == [f"{file}: {line}"]


@pytest.mark.parametrize("pattern", [REGISTRY, MACHINE, KEY], ids=["a registry", "a machine", "a private key"])
def test_no_committed_file_contains(pattern: re.Pattern[str]) -> None:
    assert len(tracked()) > 100
    assert offences(pattern, tracked()) == []


def test_files_end_with_newline_without_trailing_blanks() -> None:
    bytes_that_count = ("tests/manifests/data/*", "tests/reviews/*.json", "tests/fuzz/corpus/*")
    recorded = [file for pattern in bytes_that_count for file in tracked(pattern)]
    files = [file for file in tracked() if file.read_bytes() and file not in recorded]
    assert [name(file) for file in files if not re.search(rb"[^\n]\n\Z", file.read_bytes())] == []
    assert [name(file) for file in files if re.search(rb"[ \t]\n", file.read_bytes())] == []


def test_development_certificates_are_not_committed() -> None:
    assert [name(file) for file in tracked("certs/*")] == [
        "certs/README.md",
        "certs/cert-manager/authority.yaml",
        "certs/cert-manager/certificate.yaml",
        "certs/generate.py",
    ]
