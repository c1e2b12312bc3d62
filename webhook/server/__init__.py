"""The webhook as a server: listeners, health, metrics and journal."""

from __future__ import annotations

from webhook.server.in_force import File, Files
from webhook.server.reload import UnusableError
from webhook.server.serve import Server, StartError

__all__ = ["File", "Files", "Server", "StartError", "UnusableError"]
