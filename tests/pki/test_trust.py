"""When a leaf is trusted: nobody refuses it, and nobody has to be given a moment to see the bundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.pki import Authority
from webhook.pki.hook_configuration import Entry, HookConfiguration
from webhook.pki.objects import ClusterState
from webhook.pki.rotation import Served
from webhook.pki.trust import Trust

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
HOST = "guard.gpu.svc"
OLD, YOUNG = (Authority.create("guard", NOW - age, 9 * DAY) for age in (timedelta(hours=1), timedelta(seconds=1)))
CONFIGURATIONS = ("/mutating", "/validating")


class Judge:
    """A trust with what it said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, dict[str, Any]]] = []
        self.trust = Trust(HOST, self.say)

    def say(self, level: str, event: str, /, **fields: Any) -> None:
        self.said.append((level, event, fields))

    def judges(self, authority: Authority, *bundles: bytes, now: datetime = NOW) -> bool:
        """Whether a leaf is trusted where two configurations have entries with these bundles."""
        leaf = authority.sign([HOST], NOW, DAY)
        served = Served(leaf, x509.load_pem_x509_certificate(leaf.certificate), authority.certificate)
        entries = tuple(Entry(f"{number}.example.com", pem) for number, pem in enumerate(bundles))
        found = tuple(HookConfiguration(path, "1", entries) for path in CONFIGURATIONS if bundles)
        self.trust.check(ClusterState.parse({}, found), served, now)
        return self.trust.trusted


@virtual
async def test_a_leaf_of_an_authority_that_has_long_been_known_is_trusted_at_once() -> None:
    judge = Judge()
    assert judge.judges(OLD, OLD.bundle(), YOUNG.bundle() + OLD.bundle())
    assert judge.said == [("info", "certificate trusted", {"entries": 4})]


@virtual
async def test_log_line_names_some_of_many_entries() -> None:
    judge = Judge()
    assert judge.judges(OLD, *[OLD.bundle()] * 500)
    judge.judges(OLD, *[YOUNG.bundle()] * 500)
    ((_, _, fields),) = judge.said[1:]
    assert (len(fields["entries"]), fields["count"]) == (20, 1000)


@pytest.mark.parametrize("place", [0, 1, 2])
@virtual
async def test_one_entry_that_refuses_it_is_enough(place: int) -> None:
    judge = Judge()
    assert judge.judges(OLD, *[OLD.bundle()] * 3)
    bundles = [OLD.bundle()] * 3
    bundles[place] = YOUNG.bundle()
    assert not judge.judges(OLD, *bundles)
    entries = [f"{path} {place}.example.com" for path in CONFIGURATIONS]
    assert judge.said[1:] == [("warning", "certificate not trusted", {"entries": entries, "count": 2})]


@virtual
async def test_after_a_refusal_a_leaf_is_trusted_a_second_later() -> None:
    judge = Judge()
    assert not judge.judges(OLD, b"")
    assert judge.said == [], "it was never trusted"
    await wait(0.1)
    assert not judge.judges(OLD, OLD.bundle())
    assert 0.8 < judge.trust.wait() <= 0.9
    await wait(judge.trust.wait())
    assert judge.judges(OLD, OLD.bundle())
    assert judge.trust.wait() == 0


@virtual
async def test_what_another_replica_may_have_published_a_moment_ago_is_trusted_a_second_later() -> None:
    judge = Judge()
    assert not judge.judges(YOUNG, YOUNG.bundle())
    await wait(1)
    assert judge.judges(YOUNG, YOUNG.bundle())


@virtual
async def test_who_is_trusted_stays_so_with_a_young_authority() -> None:
    judge = Judge()
    assert judge.judges(OLD, OLD.bundle())
    assert judge.judges(YOUNG, YOUNG.bundle() + OLD.bundle())


@virtual
async def test_time_and_name_count() -> None:
    judge = Judge()
    assert not judge.judges(OLD, OLD.bundle(), now=NOW + 2 * DAY)
    other = Trust("other.gpu.svc", judge.say)
    judge.trust = other
    assert not judge.judges(OLD, OLD.bundle())


@virtual
async def test_without_configurations_it_is_trusted_and_said_once() -> None:
    judge = Judge()
    assert judge.judges(OLD)
    assert judge.judges(OLD)
    assert [event for _, event, _ in judge.said] == ["certificate trusted", "no webhook configuration found"]
    assert judge.judges(OLD, OLD.bundle())
    assert judge.judges(OLD)
    assert [event for _, event, _ in judge.said][2:] == ["no webhook configuration found"]
