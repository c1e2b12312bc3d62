"""What identifies a finding from one run to the next, wherever its lines have moved."""

from __future__ import annotations

from hashlib import sha256

from webhook.report.model import Located, Result


def fingerprint(result: Result, located: Located) -> str:
    """Return a digest of the code, the file, the object and the place in it. Line and column do not matter."""
    subject = result.subject
    group = subject.api_version.rpartition("/")[0]
    parts = (located.finding.code, result.file, group, subject.kind, subject.namespace, subject.name, located.pointer)
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
