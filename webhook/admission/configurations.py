"""The configurations of the device plugin in a ConfigMap that a request writes, and how an answer names their parts.

The reader is that of the command line. What it reads of one request is bounded: every pod that reaches the server can
send any ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.diagnostics import Diagnostic, dotted
from webhook.manifests import Document, documents
from webhook.policy.messages import MESSAGE_LIMIT, printable, shorten
from webhook.policy.pods.reading import Members, members
from webhook.policy.sharing.context import ConfigText
from webhook.policy.verdict import Finding, Severity, Verdict, Violation

CHARACTERS: Final = 32 * 1024
"""Characters of the texts of one request that are read: fifty times a usual configuration. YAML takes 0.8 µs each."""

MOST_VALUES: Final = 4096
"""Values that these texts may hold, with those of aliases at each place: a check takes up to 15 µs for one."""

_OF_A_TEXT: Final = 64
"""Characters that a text counts for besides its own, as the time to read a text does not depend on its length alone."""

_DATA: Final = "data"
_TOO_LARGE: Final = Violation(
    (),
    "this text and those after it are too large to check",
    "check the file with gpushare-webhook check",
    Severity.WARN,
)


def configurations(written: Members, before: Members | None) -> Iterator[ConfigText]:
    """Yield the texts of a ConfigMap that differ from those before it. Raises MalformedError.

    Each is a configuration, whatever it looks like: the administrator named the ConfigMap, and nodes choose any key.
    What this reader cannot read is no ground for a denial, as the plugin's reader accepts more, such as a key that is
    given twice.
    """
    texts, known = members(written, _DATA, ()), {} if before is None else members(before, _DATA, ())
    characters, values = CHARACTERS, MOST_VALUES
    for key, text in texts.items():
        if not isinstance(text, str) or known.get(key) == text:
            continue
        characters -= len(text) + _OF_A_TEXT
        found = _first_document(text) if characters >= 0 else None
        values -= _count(found.value, values + 1) if isinstance(found, Document) else 0
        if min(characters, values) < 0:
            yield ConfigText((_DATA, key), None, _TOO_LARGE)
            return
        if isinstance(found, Diagnostic):
            why = f"cannot be read, line {found.line}: {printable(found.message, MESSAGE_LIMIT)}"
            yield ConfigText((_DATA, key), None, Violation((), why, "correct the text", Severity.WARN))
            continue
        yield ConfigText((_DATA, key), None if found is None else found.value)


def _first_document(text: str) -> Document | Diagnostic | None:
    """The only document of a text that the plugin reads."""
    return next(documents("", text.encode(errors="replace")), None)


def _count(value: Any, most: int) -> int:
    """The number of values in a value, those of aliases counted at each place; `most` if there are more."""
    count, pending = 0, [value]
    while pending and count < most:
        held = pending.pop()
        inner = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
        count += len(inner)
        pending.extend(inner)
    return min(count, most)


_KEY: Final = 24
_PLACE: Final = 40
"""Characters of a key and of a place in its text that a message shows. A third of it is left for the problem."""


def by_key(verdict: Verdict) -> Verdict:
    """The verdict with findings that lead to a key of the ConfigMap, and name it and the place in its text."""
    return verdict._replace(findings=tuple(map(_by_key, verdict.findings)))


def _by_key(finding: Finding) -> Finding:
    key, inner = finding.path[:2], finding.path[2:]
    place = ", ".join([f'"{printable(key[-1], _KEY)}"', *([printable(dotted(inner), _PLACE)] if inner else [])])
    message = f"{place}: {shorten(finding.message, MESSAGE_LIMIT - len(place) - 2)}"
    return Finding(finding.code, finding.severity, key, message, finding.remedy)
