"""aiohttp drops all options where it does not know one of them: the server refuses to start then."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from tests.server.certificates import Certificates
from tests.server.within import running
from webhook.server import StartError


async def test_dropped_options_are_noticed_at_start(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OlderServer(web.Server):
        """One whose connections do not know an option."""

        def __init__(self, *arguments: Any, lingering_time: float, **options: Any) -> None:
            super().__init__(*arguments, lingering_seconds=lingering_time, **options)

    monkeypatch.setattr(web, "Server", OlderServer)
    with pytest.raises(StartError, match=r"^aiohttp [0-9.]+ does not take the options of the HTTP server; install "):
        async with running(certificates):
            pass
