"""The behaviour of an API server that certificates depend on: the same requests for the fake and for a real one."""

from __future__ import annotations

import asyncio
import copy
from contextlib import aclosing
from typing import Any

import msgspec

from webhook.pki import Installation

NAME = "manners"
OURS = Installation("default", NAME)
SECRET = f"{OURS.secrets}/{OURS.secret}"
VALIDATING = f"{OURS.configurations[1]}/{NAME}"
PATIENCE = 20

ANSWERS = {
    "a Secret that is not there": 404,
    "a Secret to be updated that is not there": 404,
    "a Secret to be created": 201,
    "the same once more": 409,
    "an update of what was seen": 200,
    "an update of what was seen before that": 409,
    "an update keeps other data": {"ca.crt": "YQ==", "theirs": "Yg=="},
    "a configuration to be created": 201,
    "a patch of what was seen": 200,
    "a patch of what was seen before that": 422,
    "a patch of an entry with another name": 422,
    "a patch of an entry that is not there": 422,
    "a refused patch changes nothing": ["bmV3", None],
    "a patch of a configuration that is not there": 404,
    "a watch begins with what is there": "ADDED",
    "a watch reports a change": "MODIFIED",
    "a watch reports a deletion": "DELETED",
    "a watch resumes at a version": ["MODIFIED", "DELETED"],
}
"""What both must answer."""


async def ask(api: Any) -> dict[str, Any]:
    """Send all requests to an API server that has none of these objects."""
    return {**await _about_secrets(api), **await _about_patches(api), **await _about_watches(api)}


async def _about_secrets(api: Any) -> dict[str, Any]:
    blank = {"metadata": {"name": OURS.secret}, "type": "Opaque"}
    answers: dict[str, Any] = {
        "a Secret that is not there": (await api.request("GET", SECRET))[0],
        "a Secret to be updated that is not there": (await api.request("PUT", SECRET, blank))[0],
    }
    answers["a Secret to be created"], seen = await api.request("POST", OURS.secrets, blank)
    answers["the same once more"], _ = await api.request("POST", OURS.secrets, blank)
    filled = {**seen, "data": {"ca.crt": "YQ==", "theirs": "Yg=="}}
    answers["an update of what was seen"], _ = await api.request("PUT", SECRET, filled)
    answers["an update of what was seen before that"], _ = await api.request("PUT", SECRET, filled)
    answers["an update keeps other data"] = (await api.request("GET", SECRET))[1]["data"]
    return answers


async def _about_patches(api: Any) -> dict[str, Any]:
    entry = {
        "name": "one.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
    }
    hooks = [entry, {**copy.deepcopy(entry), "name": "two.example.com"}]
    status, seen = await api.request("POST", OURS.configurations[1], {"metadata": {"name": NAME}, "webhooks": hooks})
    answers: dict[str, Any] = {"a configuration to be created": status}
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": seen["metadata"]["resourceVersion"]}
    write = {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "bmV3"}
    other = {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": "bmV3"}
    answers["a patch of what was seen"], _ = await api.request("PATCH", VALIDATING, [unchanged, write])
    answers["a patch of what was seen before that"], _ = await api.request("PATCH", VALIDATING, [unchanged, other])
    wrong_name = {"op": "test", "path": "/webhooks/1/name", "value": "three.example.com"}
    answers["a patch of an entry with another name"], _ = await api.request("PATCH", VALIDATING, [other, wrong_name])
    beyond = {"op": "test", "path": "/webhooks/7/name", "value": "one.example.com"}
    answers["a patch of an entry that is not there"], _ = await api.request("PATCH", VALIDATING, [other, beyond])
    _, found = await api.request("GET", VALIDATING)
    bundles = [hook["clientConfig"].get("caBundle") for hook in found["webhooks"]]
    answers["a refused patch changes nothing"] = bundles
    absent, _ = await api.request("PATCH", f"{VALIDATING}-too", [write])
    return {**answers, "a patch of a configuration that is not there": absent}


async def _about_watches(api: Any) -> dict[str, Any]:
    named = {"fieldSelector": f"metadata.name={NAME}"}
    answers: dict[str, Any] = {}
    async with asyncio.timeout(PATIENCE):
        async with aclosing(api.events(OURS.configurations[1], named)) as events:
            first = await anext(events)
            answers["a watch begins with what is there"] = first.type
            patch = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
            await api.request("PATCH", VALIDATING, patch)
            answers["a watch reports a change"] = (await anext(events)).type
            await api.request("DELETE", VALIDATING)
            answers["a watch reports a deletion"] = (await anext(events)).type
        resumed = {**named, "resourceVersion": msgspec.json.decode(first.object)["metadata"]["resourceVersion"]}
        async with aclosing(api.events(OURS.configurations[1], resumed)) as events:
            answers["a watch resumes at a version"] = [(await anext(events)).type for _ in range(2)]
    await api.request("DELETE", SECRET)
    return answers
