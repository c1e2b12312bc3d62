"""When a certificate is trusted: no entry rejects it, and API servers have had time to see the bundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from tests.pki.fake_api import wait
from tests.pki.virtual import virtual
from webhook.pki import Authority, bundle
from webhook.pki.keeper import Trust
from webhook.pki.objects import Entry, HookConfiguration
from webhook.pki.rotation import Served

pytestmark = virtual

NOW = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
HOST = "guard.gpu.svc"
OLD, YOUNG = (Authority.create("guard", NOW - age, 9 * DAY) for age in (timedelta(hours=1), timedelta(seconds=1)))
CONFIGURATIONS = ("/mutating", "/validating")


class Checker:
    """A Trust with what it has logged."""

    def __init__(self) -> None:
        self.logged: list[tuple[str, str, dict[str, Any]]] = []
        self.trust = Trust(HOST, self.log)

    def log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, fields))

    def trusts(self, authority: Authority, *bundles: bytes, now: datetime = NOW) -> bool:
        """Whether a certificate is trusted if two configurations have entries with these bundles."""
        leaf = authority.sign([HOST], NOW, DAY)
        served = Served(x509.load_pem_x509_certificate(leaf.certificate), authority.certificate)
        entries = tuple(Entry(f"{number}.example.com", pem) for number, pem in enumerate(bundles))
        found = tuple(HookConfiguration(path, "1", entries) for path in CONFIGURATIONS if bundles)
        self.trust.check(found, {pem: bundle.read(pem) for pem in bundles}, served, now)
        return self.trust.trusted


async def test_certificate_of_old_authority_is_trusted_at_once() -> None:
    checker = Checker()
    assert checker.trusts(OLD, OLD.bundle(), YOUNG.bundle() + OLD.bundle())
    assert checker.logged == [("info", "certificate trusted", {"entries": 4})]


async def test_log_line_names_some_of_many_entries() -> None:
    checker = Checker()
    assert checker.trusts(OLD, *[OLD.bundle()] * 500)
    checker.trusts(OLD, *[YOUNG.bundle()] * 500)
    ((_, _, fields),) = checker.logged[1:]
    assert (len(fields["entries"]), fields["count"]) == (20, 1000)


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_one_rejecting_entry_makes_untrusted(place: int) -> None:
    checker = Checker()
    assert checker.trusts(OLD, *[OLD.bundle()] * 3)
    bundles = [OLD.bundle()] * 3
    bundles[place] = YOUNG.bundle()
    assert not checker.trusts(OLD, *bundles)
    entries = [f"{path} {place}.example.com" for path in CONFIGURATIONS]
    assert checker.logged[1:] == [("warning", "certificate not trusted", {"entries": entries, "count": 2})]


async def test_trust_returns_one_second_after_rejection() -> None:
    checker = Checker()
    assert not checker.trusts(OLD, b"")
    assert checker.logged == [], "it was never trusted"
    await wait(0.1)
    assert not checker.trusts(OLD, OLD.bundle())
    assert 0.8 < checker.trust.wait() <= 0.9
    await wait(checker.trust.wait())
    assert checker.trusts(OLD, OLD.bundle())
    assert checker.trust.wait() == 0


async def test_certificate_of_young_authority_is_trusted_after_one_second_or_at_once_if_trusted_before() -> None:
    checker = Checker()
    assert not checker.trusts(YOUNG, YOUNG.bundle())
    await wait(1)
    assert checker.trusts(YOUNG, YOUNG.bundle())
    checker = Checker()
    assert checker.trusts(OLD, OLD.bundle())
    assert checker.trusts(YOUNG, YOUNG.bundle() + OLD.bundle())


async def test_trust_checks_host_and_validity() -> None:
    checker = Checker()
    assert not checker.trusts(OLD, OLD.bundle(), now=NOW + 2 * DAY)
    other = Trust("other.gpu.svc", checker.log)
    checker.trust = other
    assert not checker.trusts(OLD, OLD.bundle())


async def test_no_configuration_is_trusted_and_logged_once() -> None:
    checker = Checker()
    assert checker.trusts(OLD)
    assert checker.trusts(OLD)
    assert [event for _, event, _ in checker.logged] == ["certificate trusted", "no webhook configuration found"]
    assert checker.trusts(OLD, OLD.bundle())
    assert checker.trusts(OLD)
    assert [event for _, event, _ in checker.logged][2:] == ["no webhook configuration found"]
