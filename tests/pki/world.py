"""A simulated cluster: replicas with keepers, configurations, API servers that see them late, and a clock to turn.

At every instant, the certificate of each replica that claims to be trusted verifies against every `caBundle` that an
API server may still see. The only exceptions are bundles that another client wrote, bundles whose authorities have all
ended, and bundles that were replaced before the clock was turned.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any, ClassVar, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.pki.fake_api import Client, FakeApi, Object, wait
from webhook.pki import Authority, Dependencies, Installation, Keeper, Lifetimes, bundle

Install: TypeAlias = Callable[[bytes, bytes], None]

HOURS = timedelta(hours=1)
BRIEF = Lifetimes(ca=3 * HOURS, leaf=0.3 * HOURS, settle=timedelta(seconds=60))
"""Lifetimes short enough to see many: a rotation every two hours."""

LAG = 55.0
"""Seconds that an API server is behind, at most: less than the settle time."""

OURS = Installation("gpu", "guard")
SECRET = f"{OURS.secrets}/{OURS.secret}"
MUTATING, VALIDATING = (f"{collection}/{OURS.name}" for collection in OURS.configurations)
HOST = "guard.gpu.svc"
BEGAN = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class Seen:
    """A `caBundle` as it was from `since` until `until`. `ours`: a keeper wrote it."""

    entry: str
    pem: bytes
    ours: bool
    since: float
    until: float | None = None


class Counts:
    """Keeps what keepers count."""

    def __init__(self) -> None:
        self.counted: dict[str, int] = {}
        self.end: datetime | None = None

    def count(self, what: str) -> None:
        self.counted[what] = self.counted.get(what, 0) + 1

    def authority_ends(self, end: datetime) -> None:
        self.end = end


def nowhere(certificate: bytes, key: bytes) -> None:
    """Install a certificate nowhere: most tests need no handshake."""


@dataclass
class Replica:
    """One replica, with what it serves. `server` installs its certificates; while `unshowable`, it cannot."""

    world: World
    client: Client
    server: Install = nowhere
    counts: Counts = field(default_factory=Counts)
    logged: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    leaves: list[x509.Certificate] = field(default_factory=list)
    pair: tuple[bytes, bytes] = (b"", b"")
    unshowable: bool = False
    running: asyncio.Task[Any] | None = None

    def __post_init__(self) -> None:
        chance = Random(self.world.chance.random())  # noqa: S311
        count, ends = self.counts.count, self.counts.authority_ends
        dependencies = Dependencies(self.client, self.install, self.log, count, ends, self.world.now, chance)
        self.keeper = Keeper(OURS, self.world.lifetimes, dependencies)

    def install(self, certificate: bytes, key: bytes) -> None:
        if self.unshowable:
            raise MemoryError
        self.server(certificate, key)
        leaf = x509.load_pem_x509_certificate(certificate)
        assert load_pem_private_key(key, None).public_key() == leaf.public_key()
        self.leaves.append(leaf)
        self.pair = certificate, key
        self.world.check(self)

    def log(self, level: str, event: str, /, **fields: Any) -> None:
        self.logged.append((level, event, {"at": self.world.now(), **fields}))

    def events(self) -> list[str]:
        return [event for _, event, _ in self.logged]

    def start(self) -> None:
        self.running = asyncio.get_running_loop().create_task(self.keeper.run())
        self.world.replicas.append(self)

    async def stop(self) -> None:
        assert self.running is not None
        self.world.replicas.remove(self)
        self.running.cancel()
        await asyncio.wait([self.running])
        assert self.running.cancelled(), self.running.exception()


class World:
    """The cluster. Made inside a virtual loop."""

    made: ClassVar[list[World]] = []

    def __init__(self, seed: int = 0, began: datetime = BEGAN) -> None:
        self.made.append(self)
        self.chance = Random(seed)  # noqa: S311
        self.lifetimes = BRIEF
        self.api = FakeApi(self.chance)
        self.api.changed = self._changed
        self.began = began
        self.replicas: list[Replica] = []
        self.history: list[Seen] = []
        self.running_tasks: list[asyncio.Task[None]] = []
        self.checks = 0
        self._turned = 0.0
        self._verified: dict[tuple[bytes, x509.Certificate], list[x509.Certificate]] = {}
        self._loop = asyncio.get_running_loop()
        self.api.put(OURS.deployment, {"metadata": {"name": OURS.name}})
        self.api.put(SECRET, {"metadata": {"name": OURS.secret, "labels": {"chart": "ours"}}, "type": "Opaque"})

    def now(self) -> datetime:
        return self.began + timedelta(seconds=self._loop.time())

    def age(self, by: timedelta) -> None:
        """Put an authority into the Secret that was created this long ago."""
        old = Authority.create("guard-ca.gpu", self.now() - by, self.lifetimes.ca)
        secret = self._secret()
        secret["data"] = {}
        self.api.put(SECRET, secret)
        self.change_secret(ca_crt=old.bundle(), ca_key=old.key_pem())

    def turn_clock(self, by: timedelta) -> None:
        """Change the system clock."""
        self.began += by
        self._turned = self._loop.time()

    def configure(self, path: str, *entries: str) -> None:
        """What Helm does: a configuration with entries, without a `caBundle`."""
        hooks = [{"name": f"{name}.example.com", "clientConfig": {"service": {}}} for name in entries]
        self.api.put(path, {"metadata": {"name": OURS.name}, "webhooks": hooks})

    def configure_both(self) -> None:
        self.configure(MUTATING, "all", "restricted")
        self.configure(VALIDATING, "pods")

    def add(self, server: Install = nowhere) -> Replica:
        """Start one more replica."""
        replica = Replica(self, Client(self.api), server)
        replica.start()
        return replica

    async def ready(self, within: float = 90) -> None:
        """Wait until every replica is trusted."""
        for _ in range(int(within * 20)):
            if all(replica.keeper.trusted for replica in self.replicas):
                return
            await wait(0.05)
        raise AssertionError([replica.logged[-4:] for replica in self.replicas])

    async def pass_time(self, time: timedelta) -> None:
        """Let time pass, and look every ten seconds whether all leaves verify."""
        end = self._loop.time() + time.total_seconds()
        while (left := end - self._loop.time()) > 0:
            await wait(min(10.0, left))
            self.check_all()

    async def ended(self) -> None:
        """Stop all replicas; raises what a keeper failed with."""
        self.check_all()
        for replica in list(self.replicas):
            await replica.stop()
        self.made.remove(self)

    def live(self) -> dict[str, bytes]:
        """The `caBundle` of every entry, as it is now."""
        return {seen.entry: seen.pem for seen in self.history if seen.until is None}

    def healthy(self) -> bool:
        """Whether the Secret is whole and no API server still sees a bundle of another client."""
        edge = self._loop.time() - LAG
        foreign = any(not seen.ours and (seen.until is None or seen.until > edge) for seen in self.history)
        return not foreign and SECRET in self.api.objects and "ca.crt" in self.secret()

    def secret(self) -> dict[str, bytes]:
        """The data of the Secret."""
        return {name: base64.b64decode(text) for name, text in (self._secret().get("data") or {}).items()}

    def change_secret(self, **texts: bytes | None) -> None:
        """Write into the Secret as another client; None removes a text. Names have `_` for the dash and the dot."""
        secret = self._secret()
        for name, text in texts.items():
            key = name.replace("_crt", ".crt").replace("_key", ".key").replace("_", "-")
            secret.setdefault("data", {})
            secret["data"].pop(key, None)
            if text is not None:
                secret["data"][key] = base64.b64encode(text).decode()
        self.api.put(SECRET, secret)

    def change_bundles(self, path: str, pem: bytes) -> None:
        """Write a bundle into all entries of a configuration, as another client."""
        found = self.api.get(path)
        assert found is not None
        for entry in found["webhooks"]:
            entry["clientConfig"]["caBundle"] = base64.b64encode(pem).decode()
        self.api.put(path, found)

    def check_all(self) -> None:
        for replica in self.replicas:
            self.check(replica)

    def check(self, replica: Replica) -> None:
        """Each `caBundle` that an API server may see now verifies what this replica serves, if it says so."""
        if not replica.keeper.trusted or not replica.leaves:
            return
        now, moment = self.now(), self._loop.time()
        for seen in self.history:
            gone = seen.until is not None and seen.until < max(moment - LAG, self._turned)
            if gone or not seen.ours:
                continue
            if all(not bundle.valid(root, now) for root in _roots(seen.pem)):
                continue
            self.checks += 1
            assert self._verifies(seen.pem, replica.leaves[-1]), (
                f"at {moment:.3f} {seen.entry} of {seen.since:.3f} to {seen.until} refuses a leaf"
            )

    def _verifies(self, pem: bytes, leaf: x509.Certificate) -> bool:
        """Whether a bundle verifies a leaf now. What verified once does so while both are in their time."""
        now, key = self.now(), (pem, leaf)
        known = self._verified.get(key, ())
        if bundle.valid(leaf, now) and any(bundle.valid(root, now) for root in known):
            return True
        self._verified[key] = [root for root in _roots(pem) if bundle.verifies([root], leaf, HOST, now)]
        return bool(self._verified[key])

    def _secret(self) -> Object:
        found = self.api.get(SECRET)
        assert found is not None
        return found

    def _changed(self, path: str, changed: Object | None, by: str) -> None:
        if path not in (MUTATING, VALIDATING):
            return
        moment = self._loop.time()
        entries = {} if changed is None else {f"{path} {entry['name']}": entry for entry in changed["webhooks"]}
        live = {seen.entry: seen for seen in self.history if seen.until is None and seen.entry.startswith(path)}
        for name, seen in live.items():
            if name not in entries or _pem(entries[name]) != seen.pem:
                seen.until = moment
        for name, entry in entries.items():
            if name not in live or live[name].until is not None:
                self.history.append(Seen(name, _pem(entry), by == "us", moment))
        self.history = [seen for seen in self.history if seen.until is None or seen.until > moment - 2 * LAG]
        self.check_all()


@lru_cache(maxsize=64)
def _roots(pem: bytes) -> tuple[x509.Certificate, ...]:
    return bundle.read(pem)


def _pem(entry: Object) -> bytes:
    return base64.b64decode(entry["clientConfig"].get("caBundle") or "")
