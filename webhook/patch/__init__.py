"""Edits become RFC 6902 operations, proven to apply. An operation that does not apply would refuse the pod."""

from __future__ import annotations

from webhook.patch.build import Operation, build
from webhook.patch.pointer import pointer
from webhook.patch.proof import flaw

__all__ = ["Operation", "build", "flaw", "pointer"]
