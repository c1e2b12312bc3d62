"""Random schedules of mishaps in a simulated cluster, in search of an instant that rejects a trusted certificate.

Mishaps of machines happen at any time and together. Another client writes only when its previous write is healed:
nothing helps against one that blanks the bundles and deletes the Secret in the same minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pki.fake_api import wait
from tests.pki.test_keeper import rotating, running
from tests.pki.virtual import run
from tests.pki.world import BRIEF, MUTATING, SECRET, VALIDATING, Replica, World
from webhook.pki import Authority

pytestmark = pytest.mark.slow

PROFILE = settings.default
assert PROFILE is not None
EXAMPLES = PROFILE.max_examples // 2

Mishap = Callable[[World, int], Awaitable[None]]


def chosen(world: World, number: int) -> Replica:
    return world.replicas[number % len(world.replicas)]


def meanwhile(world: World, doing: Coroutine[Any, Any, None]) -> None:
    """Run it concurrently."""
    world.running_tasks.append(asyncio.get_running_loop().create_task(doing))


async def restart(world: World, number: int) -> None:
    await chosen(world, number).stop()
    world.add()


async def restart_all(world: World, number: int) -> None:
    for replica in list(world.replicas):
        await replica.stop()
    for _ in range(3):
        world.add()


async def scale(world: World, number: int) -> None:
    if len(world.replicas) < 5:
        world.add()
    else:
        await chosen(world, number).stop()


async def lose(world: World, number: int) -> None:
    async def for_a_while(client: Any) -> None:
        client.lost = True
        await wait(60.0 + 37 * (number % 40))
        client.lost = False

    meanwhile(world, for_a_while(chosen(world, number).client))


async def go_down(world: World, number: int) -> None:
    async def for_a_while() -> None:
        world.api.down = True
        await wait(1.0 + 11 * (number % 30))
        world.api.down = False

    meanwhile(world, for_a_while())


async def lose_answers(world: World, number: int) -> None:
    chosen(world, number).client.deaf = (number % 4) * 0.1


async def slow_down(world: World, number: int) -> None:
    world.api.latency = [0.01, 0.3, 2.0][number % 3]


async def touch(world: World, number: int) -> None:
    for path in (SECRET, MUTATING, VALIDATING):
        found = world.api.get(path)
        if found is not None:
            found["metadata"]["labels"] = {"touched": str(number)}
            world.api.put(path, found)


async def turn_clock_a_little(world: World, number: int) -> None:
    world.turn_clock(timedelta(seconds=number % 600 - 200))


async def delete_secret(world: World, number: int) -> None:
    world.api.delete(SECRET)


async def damage_secret(world: World, number: int) -> None:
    names = sorted(world.secret())
    if names:
        world.change_secret(**{names[number % len(names)]: [b"", b"rubbish"][number % 2]})


async def replace_authority(world: World, number: int) -> None:
    mine = Authority.create("mine", world.now(), BRIEF.ca)
    world.change_secret(ca_crt=mine.bundle(), ca_key=mine.key_pem())


async def replace_bundle(world: World, number: int) -> None:
    other = Authority.create("other", world.now(), BRIEF.ca).bundle()
    world.change_bundles([MUTATING, VALIDATING][number % 2], [b"", b"rubbish", other][number % 3])


async def change_entries(world: World, number: int) -> None:
    world.configure([MUTATING, VALIDATING][number % 2], *["all", "restricted", f"new-{number}"][: number % 4])


async def reinstall_configuration(world: World, number: int) -> None:
    world.api.delete(VALIDATING)
    await wait(number % 7)
    world.configure(VALIDATING, "pods", "workloads")


MACHINES: list[Mishap] = [
    restart,
    restart_all,
    scale,
    lose,
    go_down,
    lose_answers,
    slow_down,
    touch,
    turn_clock_a_little,
]
PEOPLE: list[Mishap] = [
    delete_secret,
    damage_secret,
    replace_authority,
    replace_bundle,
    change_entries,
    reinstall_configuration,
]

SCHEDULES = st.lists(
    st.tuples(
        st.sampled_from(MACHINES + PEOPLE), st.integers(0, 999), st.sampled_from([0, 1, 7, 30, 58, 65, 200, 900])
    ),
    min_size=1,
    max_size=12,
)


async def healed(world: World) -> None:
    """Wait until the API server is there, everything is trusted, and no API server sees anything else any more."""
    for _ in range(180):
        await world.pass_time(timedelta(seconds=10))
        reached = [replica for replica in world.replicas if not replica.client.lost]
        if reached and not world.api.down and world.healthy() and all(replica.keeper.trusted for replica in reached):
            return
    raise AssertionError([replica.logged[-5:] for replica in world.replicas])


async def happens(seed: int, schedule: list[tuple[Mishap, int, int]], at_rest: bool) -> None:
    world = await (running(seed=seed) if at_rest else rotating(seed=seed))
    for mishap, number, after in schedule:
        await world.pass_time(timedelta(seconds=after))
        if mishap in PEOPLE:
            await healed(world)
        await mishap(world, number)
    await asyncio.gather(*world.running_tasks)
    await healed(world)
    await world.ended()


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**16), SCHEDULES, st.booleans())
def test_trusted_certificate_survives_any_schedule_of_mishaps(
    seed: int, schedule: list[tuple[Mishap, int, int]], at_rest: bool
) -> None:
    run(happens(seed, schedule, at_rest))
