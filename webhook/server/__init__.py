"""The webhook as a server: listeners, health, metrics and log."""

from __future__ import annotations

from webhook.server.app import Server
from webhook.server.live_config import File

__all__ = ["File", "Server"]
