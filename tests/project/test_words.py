"""Words that make a reader stumble stay out of every committed text, names in the code included.

Texts read like the Kubernetes documentation: the field's terms instead of pictures, the subject before the verb, people
and things kept apart. `AVOIDED` says what to avoid and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.project.repository import name, tracked

_WORK = "(?:[0-9]+|bytes|calls|creates|findings?|objects|pods|requests|reviews|writes)"
_PART = "(?:card|container|core|file|line|node|pod|request|review|round)"

AVOIDED = {
    # Pictures instead of the field's terms.
    "doors?": "acceptor, listening socket",
    "welcom(?:e[ds]?|ing)": "TLS handshake",
    "pulses?": "heartbeat, watchdog",
    "companions?|beside it run": "supervised task",
    "farewells?": "graceful shutdown, last response",
    "quarrel(?:l?ed|l?ing|s)?": "conflict",
    "crowd(?:s|ed|ing)?": "many connections",
    "troubles?": "failure",
    "judg(?:e[ds]?|ing|e?ments?)": "check",
    "slips?": "typo",
    "look(?:s|ed|ing)? after": "rotate, renew, maintain, reconcile",
    # People instead of clients, processes and things.
    "whoever": "every client that, any user who",
    "nobody|no one": "no user, no client, nothing",
    "somebody": "a user, another program",
    r"(?<!user\s)(?<!users\s)who (?:asks?|calls?|comes?|connects?|listens?|sends?|waits?)": "the client that",
    "told|tells? of": "reported, logged, configured",
    "of ours": "the name: that the webhook injects, of this project",
    "says? nothing": "is idle, sends no bytes, reports nothing",
    # Phrases that native readers read twice.
    "anew": "again",
    "go(?:es|ing)? on": "continue",
    "by then": "before that, already",
    "rather not": "the fact that decides",
    "as a rule": "usually",
    "(?:is|are) none of": "is not a",
    "so many": "as many, this many",
    "so long": "for this long, as long",
    r"no more(?=[^\s\w]|$)": "no longer, nothing else",
    "whatever it": "the cases one by one, or nothing",
    "a fresh one": "a new one",
    "ha(?:s|ve) come": "arrives, arrived",
    # Units.
    f"per an? {_PART}": "per without the article",
    f"{_WORK} an? (?:second|minute|hour|day)": "per instead of the article",
    f"(?:one (?:check|finding|injection|line)|bytes|findings|replicas) an? {_PART}": "per instead of the article",
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """Uses that are right: in which files, of what, and why."""

    files: str
    text: str
    reason: str


ALLOWED = (Allowed("tests/project/test_words.py", ".*", "it lists the words"),)

TEXTS = (
    "*.py",
    "*.md",
    "*.go",
    "*.sh",
    "*.tpl",
    "*.txt",
    "*.yaml",
    "*.toml",
    "*.ini",
    "*.mk",
    "*.svg",
    "dashboard.json",
)
"""Texts that people write; of the rest, names without a suffix (Makefile, Dockerfile) are also read."""

RECORDED = ("tests/manifests/data/*", "tests/fuzz/corpus/*", "tests/chart/snapshots/*", "constraints.txt", "LICENSE")
"""Inputs that a test needs as they are, and what is generated from texts that are read."""


def pattern(words: str) -> re.Pattern[str]:
    """Words as they appear in text, in names (`no_more`), and across a line break, in a comment too."""
    spaced = words.replace(" ", r"(?:[ _-]|\s+(?:(?:#:?|//|\*) )?)")
    return re.compile(rf"(?<![^\W_])(?:{spaced})(?![^\W_])", re.IGNORECASE)


_PATTERNS = [(pattern(words), instead) for words, instead in AVOIDED.items()]


def offences(where: str, text: str) -> Iterator[str]:
    """What to write instead of what, line by line."""
    for rule, instead in _PATTERNS:
        for found in rule.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            words = " ".join(found.group().split())
            if not any(fnmatch(where, entry.files) and re.fullmatch(entry.text, words) for entry in ALLOWED):
                yield f'{where}:{line}: "{words}": write {instead}'


def texts() -> list[Path]:
    """The committed texts that people write."""

    def is_text(file: Path) -> bool:
        return not file.suffix or any(fnmatch(file.name, suffix) for suffix in TEXTS)

    return [file for file in tracked() if is_text(file) and not any(fnmatch(name(file), kept) for kept in RECORDED)]


def test_texts_avoid_the_listed_words() -> None:
    found = [offence for file in texts() for offence in offences(name(file), file.read_text(errors="replace"))]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    "text",
    [
        "The door is open.",
        "def test_the_companion_ends() -> None:",
        "Who comes next waits.",
        "A user is told why.",
        "# It is read, and then it\n    # goes on.",
        "a finding of ours",
        "one check a file",
        "20 creates a second",
        "It is not there, or no more.",
        "says_nothing = True",
        "Nobody calls.",
    ],
)
def test_offences_are_found(text: str) -> None:
    assert len(list(offences("page.md", text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "the user who reads this page",
        "indoor, slippers and adjudication",
        "no more than 64 handshakes",
        "20 creates per second",
        "one pod and a container",
    ],
)
def test_plain_words_pass(text: str) -> None:
    assert list(offences("page.md", text)) == []


def test_offences_name_file_line_and_remedy() -> None:
    assert list(offences("a/page.md", "one\ntwo\nthe door")) == [
        'a/page.md:3: "door": write acceptor, listening socket'
    ]


def test_every_exception_is_used() -> None:
    for entry in ALLOWED:
        files = [file for file in texts() if fnmatch(name(file), entry.files)]
        assert any(
            re.fullmatch(entry.text, " ".join(found.group().split()))
            for file in files
            for rule, _ in _PATTERNS
            for found in rule.finditer(file.read_text())
        ), entry
        assert entry.reason
