"""The rules of a rotation, one by one: each decision, and the edge at which it changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from webhook.pki import Authority, Installation, Lifetimes, bundle, rotation
from webhook.pki.authorities import Authorities
from webhook.pki.rotation import CertificateTerms, Publish, Served, Sign, Step, Store, View, due

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
LIVES = Lifetimes(ca=300 * DAY, leaf=6 * DAY, settle=MINUTE)
TERMS = CertificateTerms("guard-ca.gpu", LIVES)
HOSTS = Installation("gpu", "guard").hosts

OLD = Authority.create("guard-ca.gpu", NOW - 250 * DAY, LIVES.ca)
ONE = Authority.create("guard-ca.gpu", NOW - DAY, LIVES.ca)
TWO = Authority.create("guard-ca.gpu", NOW - HOUR, LIVES.ca)
ENDED = Authority.create("guard-ca.gpu", NOW - 400 * DAY, LIVES.ca)
COMING = Authority.create("guard-ca.gpu", NOW + DAY, LIVES.ca)


def serving(authority: Authority, since: timedelta = DAY, life: timedelta = LIVES.leaf, now: datetime = NOW) -> Served:
    """A served certificate that was signed some time ago."""
    leaf = authority.sign(HOSTS, now - since, life)
    return Served(x509.load_pem_x509_certificate(leaf.certificate), authority.certificate)


def view(
    held: Authorities,
    served: Served | None = None,
    *,
    live: list[Authority] | None = None,
    settled: list[Authority] | None = None,
    now: datetime = NOW,
) -> View:
    """What a replica knows; without `live`, everything is published in two entries, and without `settled`, settled."""
    certificates = held.certificates if live is None else [one.certificate for one in live]
    seen = certificates if settled is None else [one.certificate for one in settled]
    return View(held, bundles(certificates), frozenset(seen), served, now)


def bundles(*each: Sequence[x509.Certificate]) -> dict[bytes, tuple[x509.Certificate, ...]]:
    return {bundle.render(certificates): tuple(certificates) for certificates in each}


def stored(step: Step | None, event: str) -> Authorities:
    assert isinstance(step, Store)
    assert step.event == event
    return step.authorities


def test_new_authority_signs_at_once_in_empty_cluster() -> None:
    made = stored(rotation.decide(view(Authorities()), TERMS), "authority created")
    assert made.current is not None
    assert (made.successor, made.predecessors, made.since) == (None, (), None)
    subject = made.current.certificate.subject.rfc4514_string()
    assert subject == "CN=guard-ca.gpu"
    assert made.current.certificate.not_valid_after_utc == NOW + LIVES.ca
    assert rotation.decide(view(made, live=[]), TERMS) == Sign(made.current)


def test_new_authority_is_successor_if_another_is_trusted() -> None:
    made = stored(rotation.decide(view(Authorities(), serving(ONE), live=[ONE]), TERMS), "successor created")
    assert made.current is None
    assert made.successor is not None
    assert (made.predecessors, made.since) == ((ONE.certificate,), NOW)


@pytest.mark.parametrize("live", [[ENDED], [COMING], []])
def test_invalid_published_authorities_cause_no_wait(live: list[Authority]) -> None:
    made = stored(rotation.decide(view(Authorities(), live=live), TERMS), "authority created")
    assert made.predecessors == tuple(one.certificate for one in live if one is COMING)


def test_authority_of_served_certificate_survives_lost_secret() -> None:
    made = stored(rotation.decide(view(Authorities(), serving(ONE), live=[]), TERMS), "authority created")
    assert made.predecessors == (ONE.certificate,)


def test_repair_restores_predecessors_from_bundles() -> None:
    held = Authorities(TWO, None, (), None, ("ca-previous.crt: not as it was written",))
    repaired = stored(rotation.decide(view(held, live=[TWO, ONE]), TERMS), "secret repaired")
    assert (repaired.current, repaired.predecessors, repaired.faults) == (TWO, (ONE.certificate,), ())


def test_repair_keeps_unpublished_predecessors() -> None:
    held = Authorities(TWO, None, (ONE.certificate,), None, ("annotation: no time",))
    repaired = stored(rotation.decide(view(held, live=[]), TERMS), "secret repaired")
    assert (repaired.predecessors, repaired.since) == ((ONE.certificate,), NOW)


@pytest.mark.parametrize(
    ("since", "faulty"),
    [
        (datetime(9999, 12, 31, 23, tzinfo=UTC), True),
        (datetime.fromisoformat("9999-12-31T23:59:59-12:00"), True),
        (NOW + timedelta(minutes=6), True),
        (NOW + timedelta(minutes=4), False),
        (datetime(1, 1, 1, tzinfo=UTC), False),
    ],
)
def test_predecessor_time_in_future_is_damage(since: datetime, faulty: bool) -> None:
    step = rotation.decide(view(Authorities(TWO, None, (ONE.certificate,), since), serving(TWO, HOUR)), TERMS)
    if faulty:
        assert stored(step, "secret repaired") == Authorities(TWO, None, (ONE.certificate,), NOW)
    else:
        assert step is None or stored(step, "predecessor dropped").predecessors == ()


def test_settled_successor_is_promoted() -> None:
    held = Authorities(OLD, ONE)
    assert rotation.decide(view(held, serving(OLD), settled=[OLD]), TERMS) is None
    promoted = stored(rotation.decide(view(held, serving(OLD)), TERMS), "authority rotated")
    assert (promoted.current, promoted.successor) == (ONE, None)
    assert (promoted.predecessors, promoted.since) == ((OLD.certificate,), NOW)


def test_promotion_keeps_earlier_predecessors() -> None:
    held = Authorities(OLD, ONE, (TWO.certificate,), NOW - 12 * DAY)
    promoted = stored(rotation.decide(view(held, serving(OLD)), TERMS), "authority rotated")
    assert (promoted.predecessors, promoted.since) == ((OLD.certificate, TWO.certificate), NOW)


@pytest.mark.parametrize("current", [None, ENDED, COMING])
def test_successor_is_promoted_at_once_if_nothing_is_trusted(current: Authority | None) -> None:
    unsettled = view(Authorities(current, ONE), settled=[])
    assert stored(rotation.decide(unsettled, TERMS), "authority rotated").current is ONE
    at_stake = view(Authorities(current, ONE, (TWO.certificate,), NOW), settled=[])
    assert rotation.decide(at_stake, TERMS) is None


@pytest.mark.parametrize("successor", [ENDED, COMING])
def test_invalid_successor_is_replaced(successor: Authority) -> None:
    made = stored(rotation.decide(view(Authorities(OLD, successor), serving(OLD)), TERMS), "successor created")
    assert made.successor not in (None, successor)


def test_successor_is_created_after_two_thirds_of_lifetime() -> None:
    assert rotation.decide(view(Authorities(OLD), serving(OLD)), TERMS) is not None
    at = OLD.certificate.not_valid_after_utc - LIVES.ca / 3
    for now, begins in ((at, True), (at - MINUTE, False)):
        step = rotation.decide(view(Authorities(OLD), serving(OLD, since=NOW - at), now=now), TERMS)
        assert isinstance(step, Store) is begins


def test_certificate_is_renewed_after_two_thirds_of_lifetime() -> None:
    served = serving(ONE)
    at = served.certificate.not_valid_after_utc - LIVES.leaf / 3
    assert rotation.decide(view(Authorities(ONE), served, now=at - SECOND), TERMS) is None
    assert rotation.decide(view(Authorities(ONE), served, now=at), TERMS) == Sign(ONE)


@pytest.mark.parametrize(("jitter", "spent"), [(-1, 0.6), (0, 2 / 3), (1, 2 / 3 * 1.1)])
def test_renewal_time_depends_on_jitter(jitter: float, spent: float) -> None:
    certificate, at = Authority.create("guard-ca.gpu", NOW, DAY).certificate, NOW + spent * DAY
    assert due(certificate, DAY, jitter, at + SECOND)
    assert not due(certificate, DAY, jitter, at - SECOND)


@pytest.mark.parametrize(("life", "left"), [(90 * DAY, 30 * DAY), (3000 * DAY, LIVES.ca / 3)])
def test_foreign_authority_is_renewed_by_its_own_lifetime(life: timedelta, left: timedelta) -> None:
    """A shorter one is not due at once; a longer one is kept until as much as a rotation needs is left."""
    mine = Authority.create("mine", NOW, life)
    turns = mine.certificate.not_valid_after_utc - left
    for at, begun in ((NOW + DAY, False), (turns - DAY, False), (turns + DAY, True)):
        step = rotation.decide(view(Authorities(mine), serving(mine, HOUR, now=at), now=at), TERMS)
        assert (step is not None) is begun
        assert not begun or stored(step, "successor created").current == mine


def test_certificate_is_not_renewed_without_gain() -> None:
    ending = Authority.create("guard-ca.gpu", NOW - LIVES.ca + HOUR, LIVES.ca)
    assert due(ending.certificate, LIVES.leaf, 0, NOW)
    step = rotation.decide(view(Authorities(ending, ONE), serving(ending), settled=[]), TERMS)
    assert step is None, "another certificate would end with its authority too"


@pytest.mark.parametrize("live", [[], [ONE], [TWO, ONE], [ONE, TWO, ENDED]])
def test_publish_if_any_bundle_differs(live: list[Authority]) -> None:
    held = Authorities(ONE, TWO, (OLD.certificate,), NOW)
    both = bundles(held.certificates, [one.certificate for one in live])
    one_differs = view(held, serving(ONE), settled=[])._replace(bundles=both)
    assert rotation.decide(one_differs, TERMS) == Publish(held.certificates)


def test_predecessors_are_dropped_after_retention() -> None:
    for since, kept in ((LIVES.retention - SECOND, True), (LIVES.retention, False)):
        held = Authorities(TWO, None, (ONE.certificate,), NOW - since)
        step = rotation.decide(view(held, serving(TWO, since=MINUTE)), TERMS)
        assert step is None if kept else stored(step, "predecessor dropped") == Authorities(TWO)


def test_renewal_without_api_server_is_limited_to_one_lifetime() -> None:
    late = serving(ONE, since=5 * DAY)
    known = view(Authorities(ONE), late)
    assert rotation.without_the_api_server(known, TERMS, NOW - LIVES.leaf + SECOND) == Sign(ONE)
    assert rotation.without_the_api_server(known, TERMS, NOW - LIVES.leaf) is None
    assert rotation.without_the_api_server(view(Authorities(), late), TERMS, NOW) is None


def test_hosts_begin_with_service_name() -> None:
    assert HOSTS == ("guard.gpu.svc", "guard.gpu", "guard")
    assert Installation("gpu", "guard", ("guard.example.com",)).hosts[-1] == "guard.example.com"


def test_installation_names_and_retention() -> None:
    ours = Installation("gpu", "guard")
    assert (ours.secret, ours.secrets) == ("guard-ca", "/api/v1/namespaces/gpu/secrets")
    assert ours.deployment == "/apis/apps/v1/namespaces/gpu/deployments/guard"
    assert Lifetimes(365 * DAY, 7 * DAY, MINUTE).retention == 14 * DAY + MINUTE


def test_foreign_authority_in_secret_is_demoted_to_successor() -> None:
    held = Authorities(TWO)
    for served in (None, serving(ONE)):
        demoted = stored(rotation.decide(view(held, served, live=[ONE]), TERMS), "authority replaced")
        assert (demoted.current, demoted.successor, demoted.predecessors) == (None, TWO, (ONE.certificate,))


RECENT = Authorities(TWO, None, (ONE.certificate,), NOW)
STEPS: dict[str, tuple[View, Step | None]] = {
    "at rest": (view(Authorities(ONE), serving(ONE)), None),
    "certificate that has ended": (view(Authorities(ONE), serving(ONE, since=7 * DAY), settled=[]), Sign(ONE)),
    "certificate not yet valid": (view(Authorities(ONE), serving(ONE, since=-HOUR), settled=[]), Sign(ONE)),
    "valid certificate, authority not settled": (view(RECENT, serving(ONE), settled=[ONE]), None),
    "valid certificate, authority settled": (view(RECENT, serving(ONE)), Sign(TWO)),
    "lost authority in use": (
        view(Authorities(TWO), serving(ONE), settled=[]),
        Store(RECENT, "authority retained"),
    ),
    "expired predecessor": (
        view(RECENT._replace(predecessors=(ENDED.certificate, ONE.certificate)), serving(TWO, since=MINUTE)),
        Store(RECENT, "predecessor dropped"),
    ),
    "predecessor in use": (view(RECENT._replace(since=NOW - 100 * DAY), serving(ONE), settled=[]), None),
    "foreign bundles, current authority in use": (
        view(Authorities(TWO), serving(TWO, since=MINUTE), live=[ONE]),
        Publish((TWO.certificate,)),
    ),
    "blank bundles": (view(Authorities(TWO), live=[]), Sign(TWO)),
    "expired bundles": (view(Authorities(TWO), live=[ENDED]), Sign(TWO)),
    "bundles that have the authority": (view(Authorities(TWO), live=[TWO, ONE]), Sign(TWO)),
}


@pytest.mark.parametrize("name", STEPS)
def test_next_step(name: str) -> None:
    seen, expected = STEPS[name]
    assert rotation.decide(seen, TERMS) == expected
