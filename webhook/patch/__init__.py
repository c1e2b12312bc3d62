"""RFC 6902 operations for edits, and the proof that they apply. The API server rejects a pod if they do not."""

from __future__ import annotations

from webhook.patch.build import Operation, build, pointer
from webhook.patch.proof import verify

__all__ = ["Operation", "build", "pointer", "verify"]
