"""The behaviour of a real API server that certificates depend on."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.place import Loopback
from tests.pki import manners
from webhook.cluster.client import connect


def test_real_api_server_answers_like_the_fake(needs_control_plane: None) -> None:
    async def ask(kubeconfig: str) -> dict[str, Any]:
        api = await connect(kubeconfig)
        try:
            return await manners.ask(api)
        finally:
            await api.close()

    with control_plane(place=Loopback) as running:
        assert asyncio.run(ask(str(running.control.kubeconfigs["admin"]))) == manners.ANSWERS
