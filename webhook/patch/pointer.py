"""JSON pointers (RFC 6901)."""

from __future__ import annotations

from webhook.policy.verdict import Path


def pointer(path: Path) -> str:
    """The pointer of a path."""
    return "".join([f"/{escape(step)}" if isinstance(step, str) else f"/{step}" for step in path])


def escape(key: str) -> str:
    """A key as a token of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")
