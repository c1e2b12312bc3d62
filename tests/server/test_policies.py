"""A server beside policies: what it leaves to them, and what it takes back, on real sockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import pytest

from tests.server.client import request
from tests.server.reviews import deployment, patch_of, pod, review
from tests.server.within import Running, configuration, running
from webhook.policy.rules import Cap

if TYPE_CHECKING:
    from tests.server.certificates import Certificates

pytestmark = pytest.mark.slow

POLICIES = "policies: {enabled: true}"
WARNS = "{policies: {enabled: true}, severities: {GPS001: warn}}"
CAPS = [cap for cap in get_args(Cap) if cap not in ("enforce", "off")]


async def answered(server: Running, path: str, manifest: Any) -> Any:
    """The response of a hook to the creation of an object."""
    asked = request("POST", path, json.dumps(review(manifest)).encode())
    said = await server.ask(server.client.say, asked)
    return said.json()["response"]


async def findings(server: Running, path: str, manifest: Any) -> str:
    """The findings in the audit annotation of a response."""
    response = await answered(server, path, manifest)
    found: str = response.get("auditAnnotations", {}).get("findings", "")
    return found


async def test_mutating_hook_injects_into_pod_that_a_policy_denies(certificates: Certificates) -> None:
    async with running(certificates, POLICIES) as server:
        response = await answered(server, "/mutate", pod(2))
        assert (response["allowed"], bool(patch_of({"response": response}))) == (True, True)
        assert "GPS001" not in await findings(server, "/mutate", pod(2))


@pytest.mark.parametrize("made", [pod, deployment])
async def test_validating_hook_denies_what_no_policy_has_denied(certificates: Certificates, made: Any) -> None:
    async with running(certificates, POLICIES) as server:
        response = await answered(server, "/validate", made(2))
        assert response["allowed"] is False
        assert "GPS001 " in response["status"]["message"]


@pytest.mark.parametrize("made", [pod, deployment])
async def test_both_hooks_leave_warnings(certificates: Certificates, made: Any) -> None:
    async with running(certificates, "severities: {GPS001: warn}") as server:
        assert "GPS001=warn" in await findings(server, "/validate", made(2))
    async with running(certificates, WARNS) as server:
        for path in ("/mutate", "/validate"):
            assert "GPS001" not in await findings(server, path, made(2))


@pytest.mark.parametrize("cap", CAPS)
async def test_hooks_take_codes_back_while_mode_is_capped(certificates: Certificates, cap: Cap) -> None:
    async with running(certificates, WARNS) as server:
        server.server.live.cap_mode(cap)
        assert f"GPS001={cap}" in await findings(server, "/validate", pod(2))
        server.server.live.cap_mode(None)
        assert "GPS001" not in await findings(server, "/validate", pod(2))


async def test_hooks_take_codes_back_while_policies_are_stopped(certificates: Certificates) -> None:
    async with running(certificates, WARNS) as server:
        live = server.server.live
        live.stop_policies(True)
        assert "GPS001=warn" in await findings(server, "/validate", pod(2))
        await live.apply_settings(configuration(WARNS.replace("}}", "}, limits: {perPod: 3}}"), certificates))
        assert "GPS001=warn" in await findings(server, "/validate", pod(2))
        live.stop_policies(False)
        assert "GPS001" not in await findings(server, "/validate", pod(2))


async def test_reloaded_settings_decide_what_is_left(certificates: Certificates) -> None:
    async with running(certificates, WARNS) as server:
        suppressing = WARNS.replace("}}", "}, suppress: {annotation: a}}")
        await server.server.live.apply_settings(configuration(suppressing, certificates))
        assert "GPS001=warn" in await findings(server, "/validate", pod(2))
        await server.server.live.apply_settings(configuration(WARNS, certificates))
        assert "GPS001" not in await findings(server, "/validate", pod(2))


async def test_policies_setting_needs_restart(certificates: Certificates) -> None:
    """Otherwise the server would need rights and a task that it did not start with."""
    async with running(certificates, WARNS) as server:
        await server.server.live.apply_settings(configuration("severities: {GPS001: warn}", certificates))
        server.log.event("setting takes effect after a restart", key="policies.enabled")
        assert "GPS001" not in await findings(server, "/validate", pod(2))
