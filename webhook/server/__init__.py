"""The webhook as a server: listeners, health, metrics and journal."""

from __future__ import annotations

from webhook.server.serve import Server, StartError

__all__ = ["Server", "StartError"]
