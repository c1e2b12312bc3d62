"""The rules of a rotation, one by one: what is decided, and at which edge it turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from webhook.pki import Authority, Installation, Lifetimes, rotation
from webhook.pki.authorities import Authorities
from webhook.pki.bundle import Bundle
from webhook.pki.installation import due
from webhook.pki.rotation import Publish, Served, Sign, Step, Store, Terms, View

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
LIVES = Lifetimes(ca=300 * DAY, leaf=6 * DAY)
TERMS = Terms("guard-ca.gpu", LIVES)
HOSTS = Installation("gpu", "guard").hosts

OLD = Authority.create("guard-ca.gpu", NOW - 250 * DAY, LIVES.ca)
ONE = Authority.create("guard-ca.gpu", NOW - DAY, LIVES.ca)
TWO = Authority.create("guard-ca.gpu", NOW - HOUR, LIVES.ca)
ENDED = Authority.create("guard-ca.gpu", NOW - 400 * DAY, LIVES.ca)
COMING = Authority.create("guard-ca.gpu", NOW + DAY, LIVES.ca)


def serving(authority: Authority, since: timedelta = DAY, life: timedelta = LIVES.leaf, now: datetime = NOW) -> Served:
    """A leaf that was signed some time ago."""
    leaf = authority.sign(HOSTS, now - since, life)
    return Served(leaf, x509.load_pem_x509_certificate(leaf.certificate), authority.certificate)


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
    return View(held, (Bundle.of(tuple(certificates)),) * 2, frozenset(seen), served, now)


def stored(step: Step | None, event: str) -> Authorities:
    assert isinstance(step, Store)
    assert step.event == event
    return step.authorities


def test_at_rest_nothing_is_to_be_done() -> None:
    assert rotation.decide(view(Authorities(ONE), serving(ONE)), TERMS) is None


def test_in_an_empty_cluster_an_authority_is_created_that_signs_at_once() -> None:
    made = stored(rotation.decide(view(Authorities()), TERMS), "authority created")
    assert made.current is not None
    assert (made.successor, made.predecessors, made.since) == (None, (), None)
    subject = made.current.certificate.subject.rfc4514_string()
    assert subject == "CN=guard-ca.gpu"
    assert made.current.certificate.not_valid_after_utc == NOW + LIVES.ca
    assert rotation.decide(view(made, live=[]), TERMS) == Sign(made.current)


def test_where_something_is_trusted_a_new_authority_waits() -> None:
    made = stored(rotation.decide(view(Authorities(), serving(ONE), live=[ONE]), TERMS), "successor created")
    assert made.current is None
    assert made.successor is not None
    assert (made.predecessors, made.since) == ((ONE.certificate,), NOW)


@pytest.mark.parametrize("live", [[ENDED], [COMING], []])
def test_authorities_out_of_their_time_keep_nobody_waiting(live: list[Authority]) -> None:
    made = stored(rotation.decide(view(Authorities(), live=live), TERMS), "authority created")
    assert made.predecessors == tuple(one.certificate for one in live if one is COMING)


def test_the_authority_of_the_served_leaf_is_kept_when_the_secret_is_lost() -> None:
    made = stored(rotation.decide(view(Authorities(), serving(ONE), live=[]), TERMS), "authority created")
    assert made.predecessors == (ONE.certificate,)


def test_damage_is_repaired_with_what_the_bundles_know() -> None:
    held = Authorities(TWO, None, (), None, ("ca-previous.crt: not as it was written",))
    repaired = stored(rotation.decide(view(held, live=[TWO, ONE]), TERMS), "secret repaired")
    assert (repaired.current, repaired.predecessors, repaired.faults) == (TWO, (ONE.certificate,), ())


def test_a_repair_keeps_predecessors_that_no_bundle_has() -> None:
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
def test_a_predecessor_that_was_added_in_the_future_is_damage(since: datetime, faulty: bool) -> None:
    step = rotation.decide(view(Authorities(TWO, None, (ONE.certificate,), since), serving(TWO, HOUR)), TERMS)
    if faulty:
        assert stored(step, "secret repaired") == Authorities(TWO, None, (ONE.certificate,), NOW)
    else:
        assert step is None or stored(step, "predecessor dropped").predecessors == ()


def test_a_successor_takes_its_place_once_it_is_settled() -> None:
    held = Authorities(OLD, ONE)
    assert rotation.decide(view(held, serving(OLD), settled=[OLD]), TERMS) is None
    promoted = stored(rotation.decide(view(held, serving(OLD)), TERMS), "authority rotated")
    assert (promoted.current, promoted.successor) == (ONE, None)
    assert (promoted.predecessors, promoted.since) == ((OLD.certificate,), NOW)


def test_earlier_predecessors_stay_when_another_joins_them() -> None:
    held = Authorities(OLD, ONE, (TWO.certificate,), NOW - 12 * DAY)
    promoted = stored(rotation.decide(view(held, serving(OLD)), TERMS), "authority rotated")
    assert (promoted.predecessors, promoted.since) == ((OLD.certificate, TWO.certificate), NOW)


@pytest.mark.parametrize("current", [None, ENDED, COMING])
def test_where_nobody_can_be_trusted_the_successor_signs_at_once(current: Authority | None) -> None:
    unsettled = view(Authorities(current, ONE), settled=[])
    assert stored(rotation.decide(unsettled, TERMS), "authority rotated").current is ONE
    at_stake = view(Authorities(current, ONE, (TWO.certificate,), NOW), settled=[])
    assert rotation.decide(at_stake, TERMS) is None


@pytest.mark.parametrize("successor", [ENDED, COMING])
def test_a_successor_out_of_its_time_is_replaced(successor: Authority) -> None:
    made = stored(rotation.decide(view(Authorities(OLD, successor), serving(OLD)), TERMS), "successor created")
    assert made.successor not in (None, successor)


def test_a_successor_stands_beside_an_authority_that_has_spent_two_thirds() -> None:
    assert rotation.decide(view(Authorities(OLD), serving(OLD)), TERMS) is not None
    at = OLD.certificate.not_valid_after_utc - LIVES.ca / 3
    for now, begins in ((at, True), (at - MINUTE, False)):
        step = rotation.decide(view(Authorities(OLD), serving(OLD, since=NOW - at), now=now), TERMS)
        assert isinstance(step, Store) is begins


def test_a_leaf_is_renewed_when_two_thirds_are_spent() -> None:
    served = serving(ONE)
    at = served.certificate.not_valid_after_utc - LIVES.leaf / 3
    assert rotation.decide(view(Authorities(ONE), served, now=at - SECOND), TERMS) is None
    assert rotation.decide(view(Authorities(ONE), served, now=at), TERMS) == Sign(ONE)


@pytest.mark.parametrize(("jitter", "spent"), [(-1, 0.6), (0, 2 / 3), (1, 2 / 3 * 1.1)])
def test_every_replica_renews_at_its_own_time(jitter: float, spent: float) -> None:
    certificate, at = Authority.create("guard-ca.gpu", NOW, DAY).certificate, NOW + spent * DAY
    assert due(certificate, DAY, jitter, at + SECOND)
    assert not due(certificate, DAY, jitter, at - SECOND)


@pytest.mark.parametrize(("life", "left"), [(90 * DAY, 30 * DAY), (3000 * DAY, LIVES.ca / 3)])
def test_an_authority_that_somebody_made_is_replaced_by_its_own_life(life: timedelta, left: timedelta) -> None:
    """Shorter, it is not due at once; longer, it is kept until only what is needed for a rotation is left."""
    mine = Authority.create("mine", NOW, life)
    turns = mine.certificate.not_valid_after_utc - left
    for at, begun in ((NOW + DAY, False), (turns - DAY, False), (turns + DAY, True)):
        step = rotation.decide(view(Authorities(mine), serving(mine, HOUR, now=at), now=at), TERMS)
        assert (step is not None) is begun
        assert not begun or stored(step, "successor created").current == mine


def test_a_leaf_is_not_renewed_for_nothing() -> None:
    ending = Authority.create("guard-ca.gpu", NOW - LIVES.ca + HOUR, LIVES.ca)
    assert due(ending.certificate, LIVES.leaf, 0, NOW)
    step = rotation.decide(view(Authorities(ending, ONE), serving(ending), settled=[]), TERMS)
    assert step is None, "another leaf would end with its authority too"


@pytest.mark.parametrize("since", [7 * DAY, -HOUR], ids=["ended", "not yet begun"])
def test_a_leaf_out_of_its_time_is_replaced_at_once(since: timedelta) -> None:
    assert rotation.decide(view(Authorities(ONE), serving(ONE, since=since), settled=[]), TERMS) == Sign(ONE)


def test_a_good_leaf_is_given_up_only_for_an_authority_that_is_settled() -> None:
    held = Authorities(TWO, None, (ONE.certificate,), NOW)
    assert rotation.decide(view(held, serving(ONE), settled=[ONE]), TERMS) is None
    assert rotation.decide(view(held, serving(ONE)), TERMS) == Sign(TWO)


def test_an_authority_that_the_secret_lost_is_kept_while_its_leaf_is_served() -> None:
    retained = stored(rotation.decide(view(Authorities(TWO), serving(ONE), settled=[]), TERMS), "authority retained")
    assert retained == Authorities(TWO, None, (ONE.certificate,), NOW)


@pytest.mark.parametrize("live", [[], [ONE], [TWO, ONE], [ONE, TWO, ENDED]])
def test_every_entry_has_exactly_ours(live: list[Authority]) -> None:
    held = Authorities(ONE, TWO, (OLD.certificate,), NOW)
    ours = Bundle.of(held.certificates)
    other = Bundle.of(tuple(one.certificate for one in live))
    one_differs = replace(view(held, serving(ONE), settled=[]), bundles=(ours, other))
    assert rotation.decide(one_differs, TERMS) == Publish(ours)


def test_predecessors_go_when_no_leaf_can_be_theirs() -> None:
    for since, kept in ((LIVES.retention - SECOND, True), (LIVES.retention, False)):
        held = Authorities(TWO, None, (ONE.certificate,), NOW - since)
        step = rotation.decide(view(held, serving(TWO, since=MINUTE)), TERMS)
        assert step is None if kept else stored(step, "predecessor dropped") == Authorities(TWO)


def test_a_predecessor_goes_when_it_ended_and_the_others_stay() -> None:
    held = Authorities(TWO, None, (ENDED.certificate, ONE.certificate), NOW)
    left = stored(rotation.decide(view(held, serving(TWO, since=MINUTE)), TERMS), "predecessor dropped")
    assert left == Authorities(TWO, None, (ONE.certificate,), NOW)


def test_a_predecessor_whose_leaf_is_served_stays() -> None:
    held = Authorities(TWO, None, (ONE.certificate,), NOW - 100 * DAY)
    assert rotation.decide(view(held, serving(ONE), settled=[]), TERMS) is None


def test_without_the_api_server_leaves_are_renewed_for_the_life_of_one() -> None:
    late = serving(ONE, since=5 * DAY)
    known = view(Authorities(ONE), late)
    assert rotation.without_the_api_server(known, TERMS, NOW - LIVES.leaf + SECOND) == Sign(ONE)
    assert rotation.without_the_api_server(known, TERMS, NOW - LIVES.leaf) is None
    assert rotation.without_the_api_server(view(Authorities(), late), TERMS, NOW) is None


def test_leaves_are_for_the_name_that_the_api_server_expects() -> None:
    assert HOSTS == ("guard.gpu.svc", "guard.gpu", "guard")
    assert Installation("gpu", "guard", ("guard.example.com",)).hosts[-1] == "guard.example.com"


def test_names_and_lives_that_last() -> None:
    ours = Installation("gpu", "guard")
    assert (ours.secret, ours.secrets) == ("guard-ca", "/api/v1/namespaces/gpu/secrets")
    assert ours.deployment == "/apis/apps/v1/namespaces/gpu/deployments/guard"
    assert Lifetimes() == Lifetimes(365 * DAY, 7 * DAY, MINUTE)
    assert Lifetimes().retention == 14 * DAY + MINUTE


def test_an_authority_that_somebody_put_into_the_secret_waits_like_any_successor() -> None:
    held = Authorities(TWO)
    for served in (None, serving(ONE)):
        demoted = stored(rotation.decide(view(held, served, live=[ONE]), TERMS), "authority replaced")
        assert (demoted.current, demoted.successor, demoted.predecessors) == (None, TWO, (ONE.certificate,))


def test_who_serves_the_current_authority_knows_that_the_bundles_are_foreign() -> None:
    step = rotation.decide(view(Authorities(TWO), serving(TWO, since=MINUTE), live=[ONE]), TERMS)
    assert step == Publish(Bundle.of((TWO.certificate,)))


@pytest.mark.parametrize("live", [[], [ENDED], [TWO, ONE]])
def test_no_authority_waits_for_bundles_that_are_blank_or_ended_or_have_it(live: list[Authority]) -> None:
    assert rotation.decide(view(Authorities(TWO), None, live=live), TERMS) == Sign(TWO)
