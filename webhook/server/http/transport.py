"""The transport that aiohttp writes to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any


class ReportingTransport(asyncio.Transport):
    """Forwards to the transport of the connection, and reports that aiohttp closes it.

    A close waits until the client has read what was written, and that may be never. So it needs a deadline.
    """

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._on_close = on_close

    def close(self) -> None:
        """Report, then close."""
        self._on_close()
        self._transport.close()

    def abort(self) -> None:
        """Forward."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Forward."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Forward."""
        return self._transport.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Forward."""
        self._transport.write(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[Any]]) -> None:
        """Forward."""
        self._transport.writelines(list_of_data)

    def can_write_eof(self) -> bool:
        """Forward."""
        return self._transport.can_write_eof()

    def write_eof(self) -> None:
        """Forward."""
        self._transport.write_eof()

    def get_write_buffer_size(self) -> int:
        """Forward."""
        return self._transport.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Forward."""
        return self._transport.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Forward."""
        self._transport.set_write_buffer_limits(high, low)

    def is_reading(self) -> bool:
        """Forward."""
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        """Forward."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Forward."""
        self._transport.resume_reading()
