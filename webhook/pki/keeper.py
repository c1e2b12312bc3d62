"""The keeper: reads the cluster, takes the steps that `rotation` decides on, and repeats while the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from random import Random, SystemRandom
from typing import NoReturn

from cryptography import x509
from msgspec import Raw

from webhook.cluster.api_server import IDENTIFIED, ApiServer
from webhook.cluster.objects import MUTATING, SECRET, VALIDATING, Kind
from webhook.cluster.watch import Feed, Named
from webhook.diagnostics import InputError
from webhook.pki import bundle, rotation
from webhook.pki.authorities import Authority, age
from webhook.pki.objects import ClusterState, ConflictError, HookConfiguration, Installation, Objects
from webhook.pki.rotation import Bundles, CertificateTerms, Lifetimes, Publish, Served, Sign, Step, Store, View
from webhook.policy.messages import printable
from webhook.runtime.retry import Backoff, FailureLog, LogEvent, RateLimiter, delay, monotonic, wait_for_event

_INTERVAL = 60.0
"""Seconds between two rounds if nothing changes. Timers stop while a machine sleeps, so each round reads the clock."""

_GATHER = 0.2
"""Seconds, about, from a change to the next round: more changes may follow, and another replica may act first."""

_TOGETHER = 10.0
"""Seconds that a mutating configuration without the validating one waits for it, since a release creates it first.

The guard leaves pods that `/mutate` has seen to `/validate`, so that neither would deny one.
"""

_TOO_OFTEN = 8
"""Conflicts in a row that are no longer a coincidence."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a keeper works with.

    `install` makes the server present a certificate with its key, both PEM. Where that fails, it raises InputError or
    MemoryError, and the server presents the previous one. `count` counts one event: writes, conflicts, failures or
    rotations. `authority_ends` records when the current authority ends. `now` is the time that decides whether
    certificates are valid, at best that of the API server.
    """

    api: ApiServer
    install: Callable[[bytes, bytes], None]
    log: LogEvent
    count: Callable[[str], None]
    authority_ends: Callable[[datetime], None]
    now: Callable[[], datetime]
    chance: Random = field(default_factory=SystemRandom)


class Keeper:
    """Keeps the certificates of one replica. Run `run` in a task; `trusted` is a condition of readiness."""

    def __init__(self, installation: Installation, lifetimes: Lifetimes, dependencies: Dependencies) -> None:
        self._installation = installation
        self._dependencies = dependencies
        self._objects = Objects(installation, dependencies.api)
        name = f"{installation.secret}.{installation.namespace}"
        self._terms = CertificateTerms(name, lifetimes, jitter=dependencies.chance.uniform(-1, 1))
        self._served: Served | None = None
        self._last: tuple[ClusterState, View] | None = None
        self._everywhere: dict[x509.Certificate, float] = {}
        self._unaccompanied: float | None = None
        self._failure_backoff = Backoff(1.0, dependencies.chance)
        self._conflict_backoff = Backoff(0.05, dependencies.chance)
        self._changed = asyncio.Event()
        log = dependencies.log
        self._trust = Trust(installation.hosts[0], log)
        self._unreachable = FailureLog(log, "certificates cannot be reconciled", "certificates reconciled again")
        self._disputed = FailureLog(log, "certificates changed too often", "certificates no longer change too often")
        self._uninstalled = FailureLog(log, "certificate cannot be installed", "certificate installed again")

    @property
    def trusted(self) -> bool:
        """Whether every `caBundle`, as last read, verifies the served certificate, and it is valid now.

        Without any webhook configuration nothing rejects it. Losing the API server changes nothing until the
        certificate ends.
        """
        served = self._served
        return self._trust.trusted and served is not None and bundle.valid(served.certificate, self._dependencies.now())

    async def run(self) -> NoReturn:
        """Reconcile until cancelled: after each change in the cluster, and once per minute."""
        installation, lifetimes, chance = self._installation, self._terms.lifetimes, self._dependencies.chance
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(SECRET, installation.namespace, installation.secret))
            for kind in (MUTATING, VALIDATING):
                group.create_task(self._watch(kind, None, installation.name))
            limiter = RateLimiter()
            while True:
                self._changed.clear()
                if not await self._reconcile(limiter):
                    continue
                # The next round is sooner while a successor settles, or until the certificate counts as trusted.
                settling = self._last is not None and self._last[1].authorities.successor is not None
                settle = lifetimes.settle.total_seconds() / (10 if settling else 1)
                usual = min(_INTERVAL, settle, lifetimes.leaf.total_seconds() / 20) * chance.uniform(0.9, 1.0)
                if await wait_for_event(self._changed, self._trust.wait() or usual):
                    await delay(_GATHER * chance.uniform(0.5, 1.5))

    async def _reconcile(self, limiter: RateLimiter) -> bool:
        """Take steps until none is left; return False after a wait if something prevents one."""
        try:
            step, state = await self._read()
            while step is not None:
                if not isinstance(step, Sign) and (wait := limiter.wait()):
                    self._disputed.report("another client keeps changing them")
                    await delay(wait)
                    return False
                if not await self._take(step, state, limiter):
                    await self._failure_backoff.wait()
                    return False
                step, state = await self._read()
        except ConflictError as error:
            self._dependencies.count("conflicts")
            if self._conflict_backoff.failures == _TOO_OFTEN:
                self._dependencies.log("warning", "certificates cannot be written", error=printable(error, 600))
            await self._conflict_backoff.wait()
            return False
        except OSError as error:
            self._continue_without_the_api_server(error)
            await self._failure_backoff.wait()
            return False
        if limiter.full:
            self._disputed.recover()
        self._conflict_backoff.reset()
        self._failure_backoff.reset()
        self._unreachable.recover()
        return True

    async def _read(self) -> tuple[Step | None, ClusterState]:
        """The next step, and the state that it starts from. Remembers since when each authority is in every bundle."""
        state = await self._objects.read()
        pems = dict.fromkeys(entry.bundle for configuration in state.configurations for entry in configuration.entries)
        bundles = {pem: bundle.read(pem) for pem in pems}
        now = monotonic()
        mutating = f"{self._installation.configurations[0]}/{self._installation.name}"
        if [configuration.path for configuration in state.configurations] != [mutating]:
            self._unaccompanied = None
        elif self._unaccompanied is None:
            self._unaccompanied = now
        published = [set(certificates) for certificates in bundles.values()] or [set(state.authorities.certificates)]
        self._everywhere = {root: self._everywhere.get(root, now) for root in set.intersection(*published)}
        settle = self._terms.lifetimes.settle.total_seconds()
        settled = frozenset(root for root, since in self._everywhere.items() if now - since >= settle)
        view = View(state.authorities, bundles, settled, self._served, self._dependencies.now())
        self._last = state, view
        if view.authorities.current is not None:
            self._dependencies.authority_ends(view.authorities.current.certificate.not_valid_after_utc)
        self._check_trust()
        return rotation.decide(view, self._terms), state

    async def _take(self, step: Step, state: ClusterState, limiter: RateLimiter) -> bool:
        """Take one step, count it and log it; return whether it succeeded."""
        log, count = self._dependencies.log, self._dependencies.count
        match step:
            case Sign(authority):
                return self._sign(authority)
            case Store(wanted, event):
                await self._objects.store(state, wanted)
                limiter.spend()
                count("writes")
                if event == "authority rotated":
                    count("rotations")
                log("info", event, faults=[printable(fault) for fault in state.authorities.faults])
            case Publish() if self._unaccompanied is not None and monotonic() - self._unaccompanied < _TOGETHER:
                self._changed.clear()
                await wait_for_event(self._changed, self._unaccompanied + _TOGETHER - monotonic())
            case Publish(wanted):
                level = "debug" if self._disputed else "info"
                async with aclosing(self._objects.publish(state, bundle.render(wanted))) as written:
                    async for path in written:
                        limiter.spend()
                        count("writes")
                        log(level, "bundle published", configuration=path, authorities=len(wanted))
        return True

    def _sign(self, authority: Authority) -> bool:
        """Sign and install a certificate; return whether it is installed. If not, the previous one stays `served`."""
        dependencies = self._dependencies
        serving = authority.sign(self._installation.hosts, dependencies.now(), self._terms.lifetimes.leaf)
        certificate = x509.load_pem_x509_certificate(serving.certificate)
        try:
            dependencies.install(serving.certificate, serving.key)
        except (InputError, MemoryError) as error:
            dependencies.count("failures")
            self._uninstalled.report(str(error) or "no memory")
            return False
        self._served = Served(certificate, authority.certificate)
        self._uninstalled.recover()
        dependencies.log("info", "certificate signed", until=certificate.not_valid_after_utc.isoformat())
        self._check_trust()
        return True

    def _check_trust(self) -> None:
        if self._served is not None and self._last is not None:
            state, view = self._last
            self._trust.check(state.configurations, view.bundles, self._served, self._dependencies.now())

    def _continue_without_the_api_server(self, error: Exception) -> None:
        """Report the failure, and renew the certificate by the last view."""
        self._dependencies.count("failures")
        self._unreachable.report(error)
        if self._last is None:
            return
        _, seen = self._last
        view = seen._replace(served=self._served, now=self._dependencies.now())
        step = rotation.without_the_api_server(view, self._terms, confirmed=seen.now)
        if step is not None:
            self._sign(step.authority)

    async def _watch(self, kind: Kind, namespace: str | None, name: str) -> None:
        """Start a round whenever an object changes. Rounds do not need the watch, so its failures are no warning."""
        api, log, chance = self._dependencies.api, self._dependencies.log, self._dependencies.chance
        reader = Named(api, kind, namespace, name, _version)
        await Feed("certificates", reader, self._wake, log, "debug", chance).run()

    async def _wake(self) -> None:
        self._changed.set()


def _version(found: Raw) -> tuple[str, str]:
    """Read the version of an object alone, so that no Secret stays in memory."""
    metadata = IDENTIFIED.decode(found).metadata
    return metadata.name, metadata.resource_version


_SEEN = 1.0
"""Seconds within which API servers usually see a new bundle. Only a replica that is not trusted yet waits for them."""

_NAMED = 20
"""Entries that a log line names."""

_NAME = 400
"""Characters of an entry with its path: each has a name of at most 253."""

_YOUNG = timedelta(minutes=1)
"""The age up to which an authority may have been published only a moment ago, by another replica."""


class Trust:
    """Compares the served certificate with every `caBundle`. `trusted` is the last result."""

    def __init__(self, host: str, log: LogEvent) -> None:
        self._host = host
        self._log = log
        self._rejected = -inf
        self._found_none = False
        self.trusted = False

    def check(
        self, configurations: Sequence[HookConfiguration], bundles: Bundles, served: Served, now: datetime
    ) -> None:
        """Find the entries that reject the certificate, and log a change of the result."""
        accepting = {
            pem
            for pem, certificates in bundles.items()
            if bundle.verifies(certificates, served.certificate, self._host, now)
        }
        entries = [(configuration.path, entry) for configuration in configurations for entry in configuration.entries]
        rejecting = [f"{path} {entry.name}" for path, entry in entries if entry.bundle not in accepting]
        if rejecting or (age(served.issuer, now) < _YOUNG and self._rejected == -inf):
            self._rejected = monotonic()
        before, self.trusted = self.trusted, not rejecting and not self.wait()
        if before and rejecting:
            named = [printable(entry, _NAME) for entry in rejecting[:_NAMED]]
            self._log("warning", "certificate not trusted", entries=named, count=len(rejecting))
        elif self.trusted and not before:
            self._log("info", "certificate trusted", entries=len(entries))
        if not configurations and not self._found_none:
            # The API server then calls no webhook, and rejects no certificate.
            self._log("warning", "no webhook configuration found")
        self._found_none = not configurations

    def wait(self) -> float:
        """Seconds until a certificate that no entry rejects counts as trusted; 0 if it does."""
        return 0.0 if self.trusted else max(0.0, self._rejected + _SEEN - monotonic())
