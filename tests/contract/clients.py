"""The fixture that runs servers for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tests.fixture import Json
from tests.server.client import Client

Clients = Callable[[Json | None, Json | None], Coroutine[Any, Any, Client]]
"""Returns a client of a server with these settings and facts."""
