"""Keepers in a simulated cluster with a clock to turn. `world` says what holds at every instant of every test here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from cryptography import x509

from tests.pki.fake_api import wait
from tests.pki.test_authority import OPENSSL, supplied
from tests.pki.virtual import virtual
from tests.pki.world import BEGAN, BRIEF, HOURS, MUTATING, OURS, SECRET, VALIDATING, Replica, World
from webhook.pki import Authority, bundle

pytestmark = virtual

MINUTE = timedelta(minutes=1)
PATIENCE = 60
"""Seconds after which a process has failed."""


@pytest.fixture(autouse=True)
async def _worlds_end_well() -> AsyncIterator[None]:
    World.made.clear()
    yield
    for world in list(World.made):
        await world.ended()


async def running(replicas: int = 3, *, seed: int = 0, old: bool = False, began: datetime = BEGAN) -> World:
    """An installation whose replicas are ready; with `old`, its authority is due for renewal within half an hour."""
    world = World(seed, began)
    if old:
        world.age(0.58 * BRIEF.ca)
    world.configure_both()
    for _ in range(replicas):
        world.add()
    await world.ready(within=3)
    return world


def authorities(world: World) -> list[x509.Certificate]:
    """What every live `caBundle` holds; they are all equal."""
    (pem,) = set(world.live().values())
    return list(bundle.read(pem))


def current(world: World) -> x509.Certificate:
    return x509.load_pem_x509_certificate(world.secret()["ca.crt"])


def first_logged(world: World, event: str) -> datetime:
    """When a replica logged an event first."""
    times: list[datetime] = [
        fields["at"] for replica in world.replicas for _, what, fields in replica.logged if what == event
    ]
    return min(times)


def issued(replica: Replica, authority: x509.Certificate) -> bool:
    """Whether this authority has signed the certificate that the replica serves."""
    return bundle.verifies([authority], replica.leaves[-1], OURS.hosts[0], replica.world.now())


async def rotating(replicas: int = 3, *, seed: int = 0, began: datetime = BEGAN) -> World:
    """An installation in which a rotation has just begun."""
    world = await running(replicas, seed=seed, old=True, began=began)
    while "ca-next.crt" not in world.secret():
        await world.pass_time(timedelta(seconds=5))
    return world


async def rotated(world: World, before: x509.Certificate, within: timedelta) -> None:
    """Let time pass until all replicas serve certificates of another authority."""
    end = world.now() + within
    while world.now() < end:
        await world.pass_time(timedelta(seconds=10))
        signing = [*world.secret()].count("ca.crt") and current(world)
        if signing and signing != before and all(issued(replica, signing) for replica in world.replicas):
            return
    raise AssertionError([replica.events() for replica in world.replicas])


async def test_three_replicas_install_with_three_writes() -> None:
    world = await running()
    assert len(authorities(world)) == 1
    assert world.api.writes == 3, "one Secret, two configurations"
    assert all(len(replica.leaves) == 1 for replica in world.replicas)
    assert sorted(world.secret()) == ["ca.crt", "ca.key"]
    assert world.api.objects[SECRET]["metadata"]["labels"] == {"chart": "ours"}
    assert world.replicas[0].counts.end == current(world).not_valid_after_utc
    await world.pass_time(HOURS)
    assert world.api.writes == 3, "nothing has changed"


async def test_changes_in_a_row_are_gathered() -> None:
    world = await running(1)
    client = world.replicas[0].client
    client.watch_lag = 0
    await world.pass_time(timedelta(seconds=1))
    before = client.requests.count(("GET", SECRET))
    for number in range(100):
        world.change_secret(theirs=str(number).encode())
        await wait(0.01)
    assert 2 <= client.requests.count(("GET", SECRET)) - before <= 10, "rounds are at least 0.1 s apart"


async def test_configuration_created_after_replicas() -> None:
    world = World()
    replica = world.add()
    await world.ready(within=3)
    assert replica.events().count("no webhook configuration found") == 1
    world.configure_both()
    await world.pass_time(timedelta(seconds=2))
    assert replica.keeper.trusted
    assert [len(bundle.read(pem)) for pem in world.live().values()] == [1, 1, 1]


@pytest.mark.parametrize("later", [4.0, None])
async def test_mutating_configuration_waits_ten_seconds_for_validating_one(later: float | None) -> None:
    """In between, `/mutate` would mark pods, which the guard then leaves to `/validate`."""
    world = World()
    replica = world.add()
    await world.ready(within=3)
    world.configure(MUTATING, "pods")
    await wait(later or 9.5)
    assert [*world.live().values()] == [b""]
    if later:
        world.configure(VALIDATING, "pods")
    await wait(1.5)
    published = [fields["configuration"] for _, event, fields in replica.logged if event == "bundle published"]
    assert published == ([VALIDATING, MUTATING] if later else [MUTATING])


async def test_certificate_is_renewed_after_two_thirds_of_lifetime_with_jitter() -> None:
    world = await running(seed=3)
    await world.pass_time(1.5 * HOURS)
    times = []
    for replica in world.replicas:
        starts = [leaf.not_valid_after_utc - BRIEF.leaf for leaf in replica.leaves]
        spans = [(later - earlier) / BRIEF.leaf for earlier, later in pairwise(starts)]
        assert len(spans) >= 2
        assert all(0.6 <= span <= 0.77 for span in spans), "up to a minute late"
        times.append(spans[0])
    assert max(times) - min(times) > 0.02


async def test_rotation_has_three_phases() -> None:
    world = await rotating(seed=4)
    old = current(world)
    begun = world.now()
    assert 0.6 <= (begun - (old.not_valid_after_utc - BRIEF.ca)) / BRIEF.ca <= 0.75
    await wait(1)
    new = x509.load_pem_x509_certificate(world.secret()["ca-next.crt"])
    assert authorities(world) == [old, new]
    await rotated(world, old, within=3 * MINUTE)
    assert (
        BRIEF.settle
        <= first_logged(world, "authority rotated") - first_logged(world, "successor created")
        <= 1.2 * BRIEF.settle
    )
    assert current(world) == new
    assert authorities(world) == [new, old]
    assert "ca-next.key" not in world.secret()
    promoted = world.now()
    while old in authorities(world):
        await world.pass_time(timedelta(seconds=10))
    assert world.now() - promoted >= 2 * BRIEF.leaf
    assert "ca-previous.crt" not in world.secret()
    assert sum(replica.counts.counted.get("rotations", 0) for replica in world.replicas) == 1


async def test_replica_may_start_at_any_time_of_rotation() -> None:
    world = await rotating(1)
    old = current(world)
    for _ in range(30):
        newcomer = world.add()
        await world.ready(within=3)
        signing = current(world)
        assert issued(newcomer, signing)
        await world.pass_time(timedelta(seconds=4))
        await newcomer.stop()
    assert current(world) != old


async def test_deleted_secret_is_recreated() -> None:
    world = await running()
    old = current(world)
    world.api.delete(SECRET)
    await world.pass_time(timedelta(seconds=5))
    assert set(world.secret()) == {"ca-next.crt", "ca-next.key", "ca-previous.crt"}, "nothing signs yet"
    assert all(issued(replica, old) for replica in world.replicas)
    await rotated(world, old, within=5 * MINUTE)


async def test_secret_is_not_recreated_without_deployment() -> None:
    world = await running()
    del world.api.objects[OURS.deployment]
    world.api.delete(SECRET)
    await world.pass_time(10 * MINUTE)
    assert SECRET not in world.api.objects
    assert all(replica.keeper.trusted for replica in world.replicas)


def other() -> Authority:
    return Authority.create("other", BEGAN, timedelta(days=1))


UNUSABLE = supplied(OPENSSL[:1], begins=BEGAN)
"""An authority whose certificates no verifier accepts."""

DAMAGE: list[dict[str, bytes | None]] = [
    {"ca_crt": b"rubbish"},
    {"ca_crt": b""},
    {"ca_crt": None},
    {"ca_key": b"rubbish"},
    {"ca_key": None},
    {"ca_crt": None, "ca_key": None},
    {"ca_crt": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
    {"ca_previous_crt": b"rubbish"},
    {"ca_next_crt": b"rubbish"},
    {"ca_next_key": b"rubbish"},
    {"ca_crt": UNUSABLE.bundle(), "ca_key": UNUSABLE.key_pem()},
]


@pytest.mark.parametrize(
    "damage", DAMAGE, ids=lambda damage: " and ".join(f"{key}={str(value)[:16]}" for key, value in damage.items())
)
@pytest.mark.slow
@pytest.mark.parametrize("turning", [False, True], ids=["at rest", "rotating"])
async def test_damaged_secret_is_repaired(damage: dict[str, bytes | None], turning: bool) -> None:
    world = await (rotating(seed=5) if turning else running(seed=5))
    await world.pass_time(timedelta(seconds=20))
    world.change_secret(**damage)
    await world.pass_time(5 * MINUTE)
    newcomer = world.add()
    await world.ready(within=3)
    assert issued(newcomer, current(world))
    assert set(world.secret()) <= {"ca.crt", "ca.key", "ca-previous.crt"}
    assert all(issued(replica, current(world)) for replica in world.replicas)


@pytest.mark.parametrize("pem", [b"", b"rubbish", other().bundle()], ids=["blank", "rubbish", "foreign"])
async def test_foreign_bundle_is_replaced_by_one_write(pem: bytes) -> None:
    world = await running()
    ours, writes = authorities(world), world.api.writes
    world.change_bundles(VALIDATING, pem)
    await world.pass_time(timedelta(seconds=2))
    assert authorities(world) == ours
    assert world.api.writes == writes + 1
    assert all(replica.keeper.trusted for replica in world.replicas)


async def test_added_removed_and_renamed_entries_get_bundle() -> None:
    world = await running()
    ours = authorities(world)
    for entries in (["all"], ["restricted", "all", "voiding"], ["renamed", "all"], []):
        world.configure(MUTATING, *entries)
        await world.pass_time(timedelta(seconds=2))
        assert all(bundle.read(pem) == tuple(ours) for pem in world.live().values())
        assert len(world.live()) == len(entries) + 1
    world.api.delete(MUTATING)
    await world.pass_time(timedelta(seconds=2))
    world.configure_both()
    await world.pass_time(timedelta(seconds=2))
    assert authorities(world) == ours
    assert len(world.live()) == 3


async def test_new_entry_restarts_settle_time() -> None:
    world = await rotating(seed=6)
    await world.pass_time(timedelta(seconds=50))
    world.configure(MUTATING, "all", "restricted", "voiding")
    came = world.now()
    old = current(world)
    await rotated(world, old, within=5 * MINUTE)
    assert world.now() - came >= BRIEF.settle


@pytest.mark.slow
async def test_rotation_completes_despite_conflicts() -> None:
    world = await rotating(seed=7)
    old = current(world)

    while current(world) == old:
        for path in (SECRET, MUTATING, VALIDATING):
            touched = world.api.get(path)
            assert touched is not None
            touched["metadata"]["labels"] = {"touched": str(world.now())}
            world.api.put(path, touched)
            await wait(0.02)
        assert world.now() < world.began + 3 * HOURS
    assert all(replica.keeper.trusted for replica in world.replicas)


@pytest.mark.slow
async def test_writes_are_rate_limited_against_a_competing_writer() -> None:
    world = await running()
    foreign, writes = other().bundle(), world.api.writes
    for _ in range(600):
        if world.live()[f"{VALIDATING} pods.example.com"] != foreign:
            world.change_bundles(VALIDATING, foreign)
        await wait(1)
    assert world.api.writes - writes <= 3 * (10 + 600 / 10)
    logged = [event for level, event, _ in world.replicas[0].logged if level != "debug"]
    assert logged.count("certificates changed too often") == 1
    assert logged.count("bundle published") <= 13
    await world.pass_time(MINUTE)
    assert all(replica.keeper.trusted for replica in world.replicas)
    await world.pass_time(3 * MINUTE)
    for replica in world.replicas:
        began, ended = (
            replica.events().count(f"certificates {how}") for how in ("changed too often", "no longer change too often")
        )
        assert began == ended <= 1


CLOCKS = {
    "past the leaf": HOURS,
    "past the authority": 4 * HOURS,
    "two years on": timedelta(days=730),
    "just before the leaf's end": BRIEF.leaf - timedelta(seconds=5),
    "just before the authority's end": BRIEF.ca - timedelta(seconds=5),
    "a minute back": -MINUTE,
    "before the leaf": -HOURS,
    "years back": timedelta(days=-1000),
}


@pytest.mark.slow
@pytest.mark.exhaustive(every=4)
@pytest.mark.parametrize("by", CLOCKS.values(), ids=CLOCKS.keys())
async def test_clock_jump_heals(by: timedelta) -> None:
    world = await running(seed=8)
    await world.pass_time(MINUTE)
    world.turn_clock(by)
    await world.pass_time(timedelta(seconds=70))
    for replica in world.replicas:
        assert replica.keeper.trusted
        assert bundle.valid(replica.leaves[-1], world.now())
    await world.pass_time(HOURS)
    world.turn_clock(-by)
    await world.pass_time(3 * MINUTE)
    for replica in world.replicas:
        assert replica.keeper.trusted
        assert bundle.valid(replica.leaves[-1], world.now())
    await world.pass_time(30 * MINUTE)


async def test_replica_is_not_trusted_before_bundle_is_published() -> None:
    world = await running(1)
    (replica,) = world.replicas
    world.turn_clock(2 * BRIEF.ca)
    while len(replica.leaves) == 1:
        await wait(0.001)
    assert not replica.keeper.trusted
    await world.ready(within=3)


async def test_certificate_is_renewed_without_api_server() -> None:
    world = await running()
    await world.pass_time(MINUTE)
    world.api.down = True
    lost = world.now()
    await world.pass_time(BRIEF.leaf)
    assert all(replica.keeper.trusted for replica in world.replicas)
    assert all(len(replica.leaves) >= 2 for replica in world.replicas)
    assert all(replica.events().count("certificates cannot be reconciled") == 1 for replica in world.replicas)
    world.api.down = False
    await world.pass_time(2 * MINUTE)
    assert all(replica.events()[-1] != "certificates cannot be reconciled" for replica in world.replicas)
    assert world.now() > lost


async def test_certificate_signed_without_api_server_is_checked() -> None:
    world = await running(1)
    (replica,) = world.replicas
    world.api.forbidden = {("PUT", SECRET)}
    mine = Authority.create("mine", world.now(), BRIEF.ca)
    world.change_secret(ca_crt=mine.bundle(), ca_key=mine.key_pem())
    await world.pass_time(replica.leaves[-1].not_valid_after_utc - world.now() - MINUTE)
    await world.ready(within=1)  # the old leaf is trusted
    world.api.down = True
    await world.pass_time(3 * MINUTE)
    assert issued(replica, mine.certificate)
    assert not replica.keeper.trusted, "no bundle has that authority"


async def test_isolated_replica_stays_trusted_through_rotation() -> None:
    world = await rotating(seed=9)
    lonely = world.replicas[0]
    lonely.client.lost = True
    old = current(world)
    ends = lonely.leaves[-1].not_valid_after_utc
    while world.now() < ends + BRIEF.leaf / 2:
        await world.pass_time(timedelta(seconds=30))
        assert issued(lonely, old)
    assert current(world) != old
    lonely.client.lost = False
    await world.pass_time(5 * MINUTE)
    assert issued(lonely, current(world))


async def test_rotation_survives_lost_responses() -> None:
    world = World(10)
    world.age(0.58 * BRIEF.ca)
    world.configure_both()
    for _ in range(3):
        world.add().client.deaf = 0.3
    await world.ready()
    first = current(world)
    await world.pass_time(HOURS)
    assert current(world) != first


@pytest.mark.parametrize("denied", [("PATCH", MUTATING), ("GET", VALIDATING), ("PUT", SECRET), ("GET", SECRET)])
async def test_missing_right_is_logged_once_and_retried_with_backoff(denied: tuple[str, str]) -> None:
    world = World(11)
    world.configure_both()
    world.api.forbidden = {denied}
    replica = world.add()
    await world.pass_time(HOURS)
    assert not replica.keeper.trusted
    logged = [fields for _, event, fields in replica.logged if event == "certificates cannot be reconciled"]
    assert len(logged) == 1
    assert "403 forbidden" in logged[0]["error"]
    assert denied[1] in logged[0]["error"]
    assert replica.client.requests.count(denied) <= 200, "one a minute of the rounds, and one of a watch"
    world.api.forbidden = set()
    await world.ready(within=90)
    assert replica.events().count("certificates reconciled again") == 1


@pytest.mark.parametrize(("refused", "written"), [(MUTATING, [VALIDATING]), (VALIDATING, [])])
async def test_write_is_counted_and_logged_although_other_fails(refused: str, written: list[str]) -> None:
    world = World(12)
    world.configure_both()
    world.api.forbidden = {("PATCH", refused)}
    replica = world.add()
    await world.pass_time(5 * MINUTE)
    assert replica.counts.counted["writes"] == world.api.writes == 1 + len(written), "the Secret is one"
    published = [fields["configuration"] for _, event, fields in replica.logged if event == "bundle published"]
    assert published == written


@pytest.mark.parametrize(("refused", "disputed"), [(MUTATING, VALIDATING), (VALIDATING, MUTATING)])
async def test_writes_are_rate_limited_although_other_configuration_fails(refused: str, disputed: str) -> None:
    world = await running(1, seed=13)
    (replica,) = world.replicas
    world.change_bundles(refused, b"")
    world.api.invalid = {refused}
    before = world.api.writes
    for _ in range(60):
        world.change_bundles(disputed, b"")
        await wait(10)
    assert replica.counts.counted["writes"] == world.api.writes
    assert world.api.writes - before <= 10 + 600 / 10
    await replica.stop()


async def test_invalid_patch_is_logged_once_and_retried_with_backoff() -> None:
    world = World(14)
    world.configure_both()
    world.api.invalid = {MUTATING}
    replica = world.add()
    await world.pass_time(HOURS)
    logged = [fields["error"] for _, event, fields in replica.logged if event == "certificates cannot be written"]
    assert logged == [f"PATCH {MUTATING}: 422 caBundle: Invalid value"]
    assert replica.client.requests.count(("PATCH", MUTATING)) <= 100
    world.api.invalid = set()
    await world.ready(within=90)


async def test_changes_are_seen_within_a_minute_without_watches() -> None:
    world = World(12)
    world.configure_both()
    world.api.forbidden = {("WATCH", collection) for collection in (*OURS.configurations, OURS.secrets)}
    replica = world.add()
    await world.ready(within=3)
    world.change_bundles(VALIDATING, b"")
    await world.pass_time(timedelta(seconds=65))
    assert replica.keeper.trusted
    assert all(world.live().values())


async def test_short_lived_watches_are_retried_with_backoff() -> None:
    world = await running(1)
    (replica,) = world.replicas
    replica.client.watch_lives = (0.1, 0.3)
    world.configure(VALIDATING, "pods", "workloads")
    await world.pass_time(10 * MINUTE)
    replica.client.requests.clear()
    await world.pass_time(10 * MINUTE)
    assert len(replica.client.requests) <= 3 * (10 + 3 * 12), (
        "one round per minute, and one for each of the three watches"
    )
    assert replica.keeper.trusted


async def test_migration_from_cert_manager_without_gap() -> None:
    world = World(13)
    world.configure_both()
    theirs = Authority.create("cert-manager", world.now(), timedelta(days=90))
    for path in (MUTATING, VALIDATING):
        world.change_bundles(path, theirs.bundle())
    replica = world.add()
    await world.pass_time(timedelta(seconds=30))
    assert not replica.keeper.trusted
    assert theirs.certificate in authorities(world), "its certificates are in use until all replicas have ours"
    await world.ready(within=120)


@pytest.mark.parametrize("reachable", [True, False])
async def test_certificate_that_cannot_be_installed_is_retried(reachable: bool) -> None:
    world = await running(1)
    (replica,) = world.replicas
    replica.unshowable = True
    world.api.down = not reachable
    shown = replica.leaves[-1]
    await world.pass_time(shown.not_valid_after_utc - world.now())
    assert not replica.keeper.trusted, "what is shown has ended"
    logged = [(event, fields["error"]) for level, event, fields in replica.logged if level == "warning"]
    assert logged.count(("certificate cannot be installed", "no memory")) == 1
    assert ("certificates cannot be reconciled" in dict(logged)) is not reachable
    assert replica.leaves == [shown]
    replica.unshowable = world.api.down = False
    await world.ready(within=90)
    assert len(replica.leaves) == 2
    assert replica.events().count("certificate signed") == 2
    assert replica.events().count("certificate installed again") == 1
    assert replica.events().count("certificates reconciled again") == (0 if reachable else 1)


@pytest.mark.slow
def test_emfile_keeps_old_certificate_until_files_can_be_opened() -> None:
    """With the server's own TLS code, in a process whose limit of open files is reached."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.pki.exhausted"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found.pop("failures") > 3, "it tried again and again"
    assert found == {
        "alive": True,
        "leaves while exhausted": 1,
        "old certificate shown": True,
        "trusted before its end": True,
        "trusted after its end": False,
        "new certificate shown": True,
        "warnings": [
            ["certificate cannot be installed", "the certificate: cannot be used: Too many open files"],
            ["certificate not trusted", None],
        ],
        "recovered": 1,
    }
