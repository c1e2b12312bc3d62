"""The transport that aiohttp writes to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class ReportingTransport:
    """Forwards to the transport of a connection, and reports that aiohttp closes it.

    A close waits until the client has read what was written, and that may be never. So it needs a deadline. Methods
    that each request needs are bound beforehand, so that forwarding costs nothing.
    """

    __slots__ = ("_on_close", "_transport", "is_closing", "resume_reading", "write", "writelines")

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        self._transport = transport
        self._on_close = on_close
        self.is_closing = transport.is_closing
        self.resume_reading = transport.resume_reading
        self.write = transport.write
        self.writelines = transport.writelines

    def close(self) -> None:
        """Report, then close."""
        self._on_close()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
