"""The ConfigMap of the installation, followed: what is kept of it, and what stays when it cannot be read.

The API server is a fake; `tests/cluster/test_switch.py` follows a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.facts.fake_cluster import CONFIG_MAPS, FakeCluster
from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.cluster.settings_map import InstalledSettings, SettingsMap, parse

RULE = '{apiGroups: [""], resources: [configmaps], resourceNames: [webhook], verbs: [get, watch]}'


def config_map(text: str | None = "mode: warn", mode: str | None = None, **others: str) -> dict[str, Any]:
    """The ConfigMap with this text and this annotation."""
    annotations = {} if mode is None else {"gpushare-webhook/mode": mode}
    data = {} if text is None else {"settings.yaml": text}
    return {"metadata": {"annotations": {**annotations, "other": "x"}}, "data": {**data, **others}}


class Following:
    """A running `SettingsMap`, with all that it took and logged."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.taken: list[InstalledSettings] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.settings = SettingsMap(cluster, "gpu", "webhook", self._take, self._log)

    async def _take(self, found: InstalledSettings) -> None:
        if not self.taken or self.taken[-1] != found:  # each watch begins with what is known already
            self.taken.append(found)

    def _log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    def events(self) -> list[str]:
        return [event for _, event, _ in self.logged]


@contextmanager
def following(cluster: FakeCluster) -> Iterator[Following]:
    """Follow the ConfigMap for the time of the context."""
    found = Following(cluster)
    task = asyncio.ensure_future(found.settings.run())
    try:
        yield found
        assert not task.done()
    finally:
        task.cancel()


@virtual
async def test_each_change_is_taken_within_a_second() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map())
    with following(cluster) as found:
        assert found.settings.pending()
        await wait(1)
        assert not found.settings.pending()
        cluster.put(CONFIG_MAPS, "webhook", config_map(mode="off"))
        await wait(0.1)
        cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit", "off"))
        await wait(0.1)
        cluster.put(CONFIG_MAPS, "other", config_map("mode: enforce"))
        await wait(0.1)
        cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit"))
        await wait(0.1)
    assert [(one.text, one.mode) for one in found.taken] == [
        ("mode: warn", None),
        ("mode: warn", "off"),
        ("mode: audit", "off"),
        ("mode: audit", None),
    ]
    assert found.logged == []
    assert found.settings.state == "ConfigMap gpu/webhook"


@virtual
async def test_change_is_taken_after_the_server_has_ended_the_watch() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map())
    with following(cluster) as found:
        await wait(240)
        cluster.end(CONFIG_MAPS)
        cluster.put(CONFIG_MAPS, "webhook", config_map(mode="off"))
        await wait(3)
        assert found.taken[-1].mode == "off"
    assert found.logged == []


@virtual
async def test_deleted_config_map_is_logged_once_and_takes_nothing() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map(mode="off"))
    with following(cluster) as found:
        await wait(1)
        cluster.delete(CONFIG_MAPS, "webhook")
        await wait(600)
        assert (len(found.taken), found.settings.state) == (1, "ConfigMap gpu/webhook, failing")
        assert not found.settings.pending()
        cluster.put(CONFIG_MAPS, "webhook", config_map())
        await wait(1)
    assert found.taken[-1].mode is None
    assert found.events() == ["installed settings are missing", "installed settings are back"]


@virtual
async def test_cap_is_taken_where_the_text_is_missing() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map(None, "off", other="x"))
    with following(cluster) as found:
        await wait(1)
        assert found.taken == [InstalledSettings(None, "off")]
        assert found.settings.state == "the file, failing"
    error = "ConfigMap gpu/webhook has no key settings.yaml; what it said last stays in force"
    assert found.logged == [("warning", "installed settings are missing", {"error": error})]


@pytest.mark.parametrize(("verb", "taken", "state"), [("get", 0, "the file"), ("watch", 1, "ConfigMap gpu/webhook")])
def test_missing_verb_is_named_once_and_followed_once_granted(verb: str, taken: int, state: str) -> None:
    @virtual
    async def followed() -> None:
        cluster = FakeCluster()
        cluster.put(CONFIG_MAPS, "webhook", config_map())
        cluster.forbidden.add((verb, CONFIG_MAPS))
        with following(cluster) as found:
            await wait(300)
            assert not found.settings.pending()
            assert (len(found.taken), found.settings.state) == (taken, f"{state}, failing")
            ((_, _, fields),) = found.logged
            error = (
                f"403: not allowed to {verb} configmaps gpu/webhook; add this rule to a Role in namespace gpu: {RULE}"
            )
            assert fields == {"error": error}
            cluster.forbidden.clear()
            cluster.put(CONFIG_MAPS, "webhook", config_map(mode="warn"))
            await wait(75)
            assert found.taken[-1].mode == "warn"
            cluster.bookmark(CONFIG_MAPS)
            await wait(1)
            assert found.settings.state == "ConfigMap gpu/webhook"

    followed()


@virtual
async def test_pending_ends_with_the_first_failure_and_stays_ended() -> None:
    cluster = FakeCluster()
    cluster.down.add(CONFIG_MAPS)
    with following(cluster) as found:
        await wait(0.5)
        assert not found.settings.pending()
        cluster.down.clear()
        cluster.slow.add(CONFIG_MAPS)
        await wait(2)
        assert not found.settings.pending()
        assert found.taken == []


@virtual
async def test_pending_ends_after_ten_seconds() -> None:
    class Silent(FakeCluster):
        async def read(self, path: str) -> tuple[int, bytes]:
            await wait(3600)
            return await super().read(path)

    with following(Silent()) as found:
        await wait(9.9)
        assert found.settings.pending()
        await wait(0.2)
        assert not found.settings.pending()
    assert found.settings.state == "the file"


def test_only_the_text_and_a_bounded_mode_are_kept() -> None:
    found = config_map("x" * 2**20, "m" * 10_000, other="y" * 100)
    found["metadata"] |= {"name": "webhook", "managedFields": [{"manager": "helm"}]}
    name, kept = parse(msgspec.Raw(json.dumps(found).encode()))
    assert (name, kept) == ("webhook", InstalledSettings("x" * 2**20, "m" * 64))


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": "webhook"}, "data": {"settings.yaml": "x" * (2**20 + 1)}},
        {"metadata": {"name": "webhook", "annotations": {"gpushare-webhook/mode": False}}},
        {"metadata": {}},
        [],
    ],
    ids=["too large", "annotation is no text", "no name", "no object"],
)
def test_what_no_api_server_stores_is_rejected(body: Any) -> None:
    with pytest.raises(msgspec.DecodeError):
        parse(msgspec.Raw(json.dumps(body).encode()))


@pytest.mark.parametrize("body", [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}, "data": None}], ids=str)
def test_empty_config_map_says_nothing(body: Any) -> None:
    assert parse(msgspec.Raw(json.dumps(body).encode())) == ("a", InstalledSettings(None, None))
