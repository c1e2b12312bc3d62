"""The objects of the installation, followed: what is kept of them, and what stays when they cannot be read.

The API server is a fake; `tests/cluster/test_switch.py` follows a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.facts.fake_cluster import ACCOUNTS, CONFIG_MAPS, FakeCluster
from tests.pki.fake_api import wait
from tests.pki.virtual import run, virtual
from webhook.cluster.api_server import JSON, UNDECODABLE
from webhook.cluster.followed import CAP, SETTINGS, Followed, Subject, parse_mode, parse_settings, record_refusal

pytestmark = virtual

RULE = '{apiGroups: [""], resources: [configmaps], resourceNames: [webhook], verbs: [get, watch]}'


def config_map(text: str | None = "mode: warn", **others: str) -> dict[str, Any]:
    """The ConfigMap with this text."""
    data = {} if text is None else {"settings.yaml": text}
    return {"metadata": {}, "data": {**data, **others}}


def account(mode: str | None) -> dict[str, Any]:
    """The ServiceAccount with this annotation."""
    annotations = {} if mode is None else {"gpushare-webhook/mode": mode}
    return {"metadata": {"annotations": {**annotations, "other": "x"}}}


class Following:
    """A running `Followed`, with all that it took and logged."""

    def __init__(self, cluster: FakeCluster, subject: Subject) -> None:
        self.taken: list[str | None] = []
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.followed = Followed(cluster, subject, "gpu", "webhook", self._take, self._log)

    async def _take(self, found: str | None) -> None:
        if not self.taken or self.taken[-1] != found:  # each watch begins with what is known already
            self.taken.append(found)

    def _log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    def events(self) -> list[str]:
        return [event for _, event, _ in self.logged]


@contextmanager
def following(cluster: FakeCluster, subject: Subject = SETTINGS) -> Iterator[Following]:
    """Follow an object for the time of the context."""
    found = Following(cluster, subject)
    task = asyncio.ensure_future(found.followed.run())
    try:
        yield found
        assert not task.done()
    finally:
        task.cancel()


async def test_each_change_is_taken_within_a_second() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map())
    with following(cluster) as found:
        assert not found.followed.settled()
        await wait(1)
        assert found.followed.settled()
        cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit"))
        await wait(0.1)
        cluster.put(CONFIG_MAPS, "other", config_map("mode: enforce"))
        await wait(0.1)
    assert found.taken == ["mode: warn", "mode: audit"]
    assert found.logged == []
    assert found.followed.state == "ConfigMap gpu/webhook"


async def test_change_that_could_not_be_taken_is_taken_again() -> None:
    cluster, tries = FakeCluster(), 0
    cluster.put(CONFIG_MAPS, "webhook", config_map())

    async def take(_text: str | None) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("no space")

    followed = Followed(cluster, SETTINGS, "gpu", "webhook", take, lambda _level, _event, /, **_fields: None)
    with pytest.raises(OSError, match="no space"):
        await followed.run()
    task = asyncio.ensure_future(followed.run())  # as the supervisor does
    await wait(1)
    assert (tries, followed.taken) == (2, True)
    task.cancel()


async def test_change_is_taken_after_the_server_has_ended_the_watch() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map())
    with following(cluster) as found:
        await wait(240)
        cluster.end(CONFIG_MAPS)
        cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit"))
        await wait(3)
        assert found.taken[-1] == "mode: audit"
    assert found.logged == []


async def test_deleted_config_map_is_logged_once() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map())
    with following(cluster) as found:
        await wait(1)
        cluster.delete(CONFIG_MAPS, "webhook")
        await wait(600)
        assert (found.taken, found.followed.state) == (["mode: warn", None], "ConfigMap gpu/webhook, failing")
        assert found.followed.settled()
        cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit"))
        await wait(1)
    assert found.taken[-1] == "mode: audit"
    assert found.events() == ["installed settings are missing", "installed settings are back"]


async def test_config_map_without_settings_is_logged() -> None:
    cluster = FakeCluster()
    cluster.put(CONFIG_MAPS, "webhook", config_map(None, other="x"))
    with following(cluster) as found:
        await wait(1)
        assert found.followed.state == "the file, failing"
    error = "ConfigMap gpu/webhook has no key settings.yaml; what it said last stays in force"
    assert found.logged == [("warning", "installed settings are missing", {"error": error})]


async def test_cap_is_taken_lifted_and_gone_with_its_account() -> None:
    cluster = FakeCluster()
    cluster.put(ACCOUNTS, "webhook-mode", account(None))
    with following(cluster, CAP) as found:
        await wait(1)
        assert (found.taken, found.followed.settled()) == ([""], True)
        for mode in ("off", None, "warn"):
            cluster.put(ACCOUNTS, "webhook-mode", account(mode))
            await wait(0.1)
        cluster.put(ACCOUNTS, "other", account("audit"))
        await wait(0.1)
        assert found.logged == []
        cluster.delete(ACCOUNTS, "webhook-mode")
        await wait(1)
    assert found.taken == ["", "off", "", "warn", None]
    error = "ServiceAccount gpu/webhook-mode does not exist; nothing caps the mode"
    assert found.logged == [("warning", "cap on the mode is missing", {"error": error})]


@pytest.mark.parametrize(("verb", "taken", "state"), [("get", 0, "the file"), ("watch", 1, "ConfigMap gpu/webhook")])
def test_missing_verb_is_named_once_and_followed_once_granted(verb: str, taken: int, state: str) -> None:
    async def followed() -> None:
        cluster = FakeCluster()
        cluster.put(CONFIG_MAPS, "webhook", config_map())
        cluster.forbidden.add((verb, CONFIG_MAPS))
        with following(cluster) as found:
            await wait(300)
            assert found.followed.settled()
            assert (len(found.taken), found.followed.state) == (taken, f"{state}, failing")
            ((_, _, fields),) = found.logged
            error = (
                f"403: not allowed to {verb} configmaps gpu/webhook; add this rule to a Role in namespace gpu: {RULE}"
            )
            assert fields == {"error": error}
            cluster.forbidden.clear()
            cluster.put(CONFIG_MAPS, "webhook", config_map("mode: audit"))
            await wait(75)
            assert found.taken[-1] == "mode: audit"
            cluster.bookmark(CONFIG_MAPS)
            await wait(1)
            assert found.followed.state == "ConfigMap gpu/webhook"

    run(followed())


async def test_pending_ends_with_the_first_failure_and_stays_ended() -> None:
    cluster = FakeCluster()
    cluster.down.add(CONFIG_MAPS)
    with following(cluster) as found:
        await wait(0.5)
        assert found.followed.settled()
        cluster.down.clear()
        cluster.slow.add(CONFIG_MAPS)
        await wait(2)
        assert found.followed.settled()
        assert found.taken == []


async def test_pending_ends_after_ten_seconds() -> None:
    class Silent(FakeCluster):
        async def read(self, path: str, accept: str = JSON) -> tuple[int, bytes]:
            await wait(3600)
            return await super().read(path, accept)

    with following(Silent()) as found:
        await wait(9.9)
        assert not found.followed.settled()
        await wait(0.2)
        assert found.followed.settled()
    assert found.followed.state == "the file"


def raw(body: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(body).encode())


def test_only_the_text_and_a_bounded_mode_are_kept() -> None:
    metadata = {"name": "webhook", "managedFields": [{"manager": "helm"}]}
    found = config_map("x" * 2**20, other="y" * 100) | {"metadata": metadata}
    assert parse_settings(raw(found)) == ("webhook", "x" * 2**20)
    long = account("m" * 10_000)
    long["metadata"] |= metadata
    assert parse_mode(raw(long)) == ("webhook", "m" * 64)


@pytest.mark.parametrize(
    ("parse", "body"),
    [
        (parse_settings, {"metadata": {"name": "webhook"}, "data": {"settings.yaml": "x" * (2**20 + 1)}}),
        (parse_mode, {"metadata": {"name": "webhook", "annotations": {"gpushare-webhook/mode": False}}}),
        (parse_settings, {"metadata": {}}),
        (parse_mode, []),
    ],
    ids=["too large", "annotation is no text", "no name", "no object"],
)
def test_what_no_api_server_stores_is_rejected(parse: Callable[[msgspec.Raw], object], body: Any) -> None:
    with pytest.raises(UNDECODABLE):
        parse(raw(body))


@pytest.mark.parametrize("others", [{}, {"data": None}], ids=str)
@pytest.mark.parametrize("parse", [parse_settings, parse_mode])
def test_empty_object_says_nothing(parse: Callable[[msgspec.Raw], object], others: Any) -> None:
    assert parse(raw({"metadata": {"name": "a"}, **others})) == ("a", "")


EVENTS = "/api/v1/namespaces/gpu/events"


async def test_refused_settings_become_an_event_of_their_config_map() -> None:
    cluster, logged = FakeCluster(), []
    await record_refusal(
        cluster, "gpu", "webhook", "mode: must be " + "x" * 2000, lambda *said, **_: logged.append(said)
    )
    ((method, path, event),) = cluster.created
    assert (method, path, logged) == ("POST", EVENTS, [])
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "gpu", "name": "webhook"}
    assert event["message"].startswith("the last valid settings stay in force: mode: must be ")
    assert (event["type"], event["reason"], len(event["message"])) == ("Warning", "SettingsRefused", 1024)


@pytest.mark.parametrize(("how", "reason"), [("down", "no answer"), ("forbidden", "403 events is forbidden")])
async def test_event_that_cannot_be_recorded_is_logged(how: str, reason: str) -> None:
    cluster, logged = FakeCluster(), []
    if how == "down":
        cluster.down.add(EVENTS)
    else:
        cluster.forbidden.add(("create", EVENTS))
    await record_refusal(cluster, "gpu", "webhook", "no", lambda *said, **fields: logged.append((*said, fields)))
    ((level, event, fields),) = logged
    assert (level, event) == ("warning", "event not recorded")
    assert reason in fields["reason"]
