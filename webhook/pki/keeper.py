"""The keeper: looks at the cluster, does what `rotation` decides, and looks again, for as long as the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random, SystemRandom
from typing import NoReturn, Protocol

from cryptography import x509

from webhook.pki import bundle, rotation
from webhook.pki.authority import Authority
from webhook.pki.installation import Installation, Lifetimes
from webhook.pki.objects import Api, ClusterState, ConflictError, Objects, RefusedError
from webhook.pki.rotation import Publish, Served, Sign, Step, Store, Terms, View
from webhook.pki.trust import Trust
from webhook.policy.printable import printable
from webhook.runtime.certificates import NotPresentedError, Present
from webhook.runtime.failure_log import FailureLog, Say
from webhook.runtime.retry import Backoff, RateLimiter, moment, pause

_LOOK = 60.0
"""Seconds between two looks when nothing changes. Timers stand still while a machine sleeps; so the clock is asked."""

_GATHER = 0.2
"""Seconds, about, from a change to the look at it: others follow, and another replica may be first."""

_TOO_OFTEN = 8
"""Conflicts in a row that are no coincidence any more."""


class Observer(Protocol):
    """What counts. `what` is one of writes, conflicts, failures, rotations."""

    def count(self, what: str) -> None:
        """Something happened once more."""

    def ends(self, end: datetime) -> None:
        """The authority that signs ends then."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a keeper works with.

    `present` puts a leaf and its key in force. `now` is the time by which certificates are checked, at best that of the
    API server.
    """

    api: Api
    present: Present
    say: Say
    observer: Observer
    now: Callable[[], datetime]
    chance: Random = field(default_factory=SystemRandom)


class Keeper:
    """Keeps one replica's certificates. `run` it beside the server; `trusted` is a condition of its readiness."""

    def __init__(self, installation: Installation, lifetimes: Lifetimes, around: Dependencies) -> None:
        self._installation = installation
        self._around = around
        self._objects = Objects(installation, around.api)
        name = f"{installation.secret}.{installation.namespace}"
        self._terms = Terms(name, lifetimes, jitter=around.chance.uniform(-1, 1))
        self._served: Served | None = None
        self._trust = Trust(installation.hosts[0], around.say)
        self._last: tuple[ClusterState, View] | None = None
        self._everywhere: dict[x509.Certificate, float] = {}
        self._lost = Backoff(1.0, around.chance)
        self._beaten = Backoff(0.05, around.chance)
        self._woken = asyncio.Event()
        say = around.say
        self._out_of_reach = FailureLog(say, "certificates cannot be looked after", "certificates looked after again")
        self._quarrel = FailureLog(say, "certificates changed too often", "certificates changed no more")
        self._unshown = FailureLog(say, "certificate cannot be shown", "certificate shown again")

    @property
    def trusted(self) -> bool:
        """Whether every `caBundle` of ours, as last seen, verifies the leaf that is served, and it is in its time.

        Without any configuration there is nobody to distrust it. Losing the API server changes nothing, until the
        leaf ends.
        """
        served = self._served
        return self._trust.trusted and served is not None and bundle.valid(served.certificate, self._around.now())

    async def run(self) -> NoReturn:
        """Look, act and wait until cancelled."""
        secret = (self._installation.secrets, self._installation.secret)
        named = [secret, *((kind, self._installation.name) for kind in self._installation.configurations)]
        async with asyncio.TaskGroup() as group:
            for collection, name in named:
                group.create_task(self._follow(collection, name))
            allowance = RateLimiter()
            while True:
                self._woken.clear()
                if await self._put_right(allowance):
                    await pause(self._until_next_look(), unless=self._woken)
                    if self._woken.is_set():
                        await pause(_GATHER * self._around.chance.uniform(0.5, 1.5))

    async def _put_right(self, allowance: RateLimiter) -> bool:
        """Do what there is to do; whether nothing is left. Waits where something stands in the way."""
        try:
            step, sight = await self._look()
            while step is not None:
                if not isinstance(step, Sign) and (wait := allowance.wait()):
                    self._quarrel.goes_on("somebody else writes them again and again")
                    await pause(wait)
                    return False
                if not await self._do(step, sight, allowance):
                    await self._lost.wait()
                    return False
                step, sight = await self._look()
        except ConflictError as error:
            self._around.observer.count("conflicts")
            if self._beaten.failures == _TOO_OFTEN:
                self._around.say("warning", "certificates cannot be written", error=printable(error, 600))
            await self._beaten.wait()
            return False
        except (OSError, RefusedError) as error:
            self._go_on_without(error)
            await self._lost.wait()
            return False
        if allowance.full:
            self._quarrel.is_over()
        self._beaten.reset()
        self._lost.reset()
        self._out_of_reach.is_over()
        return True

    async def _look(self) -> tuple[Step | None, ClusterState]:
        """See what is there, and what to do about it."""
        sight = await self._objects.look()
        view = self._view(sight)
        self._last = sight, view
        if view.authorities.current is not None:
            self._around.observer.ends(view.authorities.current.certificate.not_valid_after_utc)
        self._judge()
        return rotation.decide(view, self._terms), sight

    def _view(self, sight: ClusterState) -> View:
        held, now = sight.authorities, moment()
        present = [set(bundle.read(found)) for found in sight.bundles] or [set(held.certificates)]
        self._everywhere = {one: self._everywhere.get(one, now) for one in set.intersection(*present)}
        settle = self._terms.lifetimes.settle.total_seconds()
        settled = frozenset(one for one, since in self._everywhere.items() if now - since >= settle)
        return View(held, sight.bundles, settled, self._served, self._around.now())

    async def _do(self, step: Step, sight: ClusterState, allowance: RateLimiter) -> bool:
        """Take one step, count it, and tell of it; whether it was done."""
        say, count = self._around.say, self._around.observer.count
        match step:
            case Sign(authority):
                return self._sign(authority)
            case Store(wanted, event):
                await self._objects.store(sight, wanted)
                allowance.spend()
                count("writes")
                if event == "authority rotated":
                    count("rotations")
                say("info", event, faults=[printable(fault) for fault in sight.authorities.faults])
            case Publish(wanted):
                level, number = "debug" if self._quarrel else "info", len(bundle.read(wanted))
                async with aclosing(self._objects.publish(sight, wanted)) as written:
                    async for path in written:
                        allowance.spend()
                        count("writes")
                        say(level, "bundle published", configuration=path, authorities=number)
        return True

    def _sign(self, authority: Authority) -> bool:
        """Serve a new leaf; whether it could be put in force. If not, the one before it stays `served`."""
        leaf = authority.sign(self._installation.hosts, self._around.now(), self._terms.lifetimes.leaf)
        certificate = x509.load_pem_x509_certificate(leaf.certificate)
        try:
            self._around.present(leaf.certificate, leaf.key)
        except NotPresentedError as error:
            self._around.observer.count("failures")
            self._unshown.goes_on(error)
            return False
        self._served = Served(leaf, certificate, authority.certificate)
        self._unshown.is_over()
        self._around.say("info", "leaf signed", until=certificate.not_valid_after_utc.isoformat())
        self._judge()
        return True

    def _judge(self) -> None:
        """Find out whether what is served is trusted, by what was seen last."""
        if self._served is not None and self._last is not None:
            sight, _ = self._last
            self._trust.judge(sight, self._served, self._around.now())

    def _go_on_without(self, error: Exception) -> None:
        """Say what stands in the way; renew by what was seen last."""
        self._around.observer.count("failures")
        self._out_of_reach.goes_on(error)
        if self._last is None:
            return
        _, seen = self._last
        view = replace(seen, served=self._served, now=self._around.now())
        step = rotation.without_the_api_server(view, self._terms, confirmed=seen.now)
        if step is not None:
            self._sign(step.authority)

    def _until_next_look(self) -> float:
        """Seconds; fewer while a successor settles, or the leaf is about to be trusted."""
        lives = self._terms.lifetimes
        settling = self._last is not None and self._last[1].authorities.successor is not None
        settle = lives.settle.total_seconds() / (10 if settling else 1)
        usual = min(_LOOK, settle, lives.leaf.total_seconds() / 20) * self._around.chance.uniform(0.9, 1.0)
        return self._trust.wait() or usual

    async def _follow(self, collection: str, name: str) -> NoReturn:
        """Wake the keeper whenever an object changes. Without a watch it still looks every minute."""
        again = Backoff(1.0, self._around.chance)
        while True:
            began = moment()
            try:
                async for _ in self._around.api.watch(collection, name):
                    self._woken.set()
            except OSError as error:
                self._around.say("debug", "watch failed", path=collection, error=printable(error, 600))
            await again.wait_after(began)
