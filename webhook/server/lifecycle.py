"""The phases of a server's life."""

from __future__ import annotations

import asyncio
from enum import IntEnum


class Phase(IntEnum):
    """What the server does. A later phase never goes back to an earlier one."""

    STARTING = 0
    """It prepares, and accepts no review."""

    SERVING = 1
    """It answers reviews."""

    DRAINING = 2
    """It is not ready, and each answer ends its connection, so that clients move to other replicas."""

    REFUSING = 3
    """It answers what is still open with 503, so that the API server asks another replica."""

    CLOSING = 4
    """It closes its connections, and leaves clients a moment to read their last answers."""

    STOPPED = 5
    """Nothing is waited for."""


class Lifecycle:
    """The current phase of a server. Everything that depends on it asks here."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._entered = {phase: asyncio.Event() for phase in Phase}

    def enter(self, phase: Phase) -> None:
        """Enter a phase, unless it has been passed."""
        self.phase = max(self.phase, phase)
        for reached in Phase:
            if reached <= self.phase:
                self._entered[reached].set()

    async def reached(self, phase: Phase) -> None:
        await self._entered[phase].wait()
