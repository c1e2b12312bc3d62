"""Certificates: an authority and the leaves that it signs."""

from __future__ import annotations

from webhook.pki.authority import Authority, Leaf

__all__ = ["Authority", "Leaf"]
