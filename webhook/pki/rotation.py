"""What one replica does next about its certificates: a pure function of what it knows at one moment.

A rotation has three phases, and every replica sees in the Secret which one it is:

1. A successor stands beside the current authority. Both are published in every `caBundle`; the current one signs.
2. The successor has been in every `caBundle` for the settle time, so that every API server has seen it: it takes the
   current one's place, and signs. What was current becomes a predecessor and stays in the bundle.
3. No leaf of a predecessor can be served any more: it leaves the Secret, and then the bundles.

The rules are tried in the order of `_RULES`, and the first that asks for something is obeyed. Then the world is looked
at anew, so every step starts from what is really there, whoever made it so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeGuard

from cryptography import x509

from webhook.pki import bundle
from webhook.pki.authorities import Authorities
from webhook.pki.authority import Authority, Leaf
from webhook.pki.installation import Lifetimes, due

_AHEAD = timedelta(minutes=5)
"""How far the clocks of API servers may be apart. What was written later than that was not written by us."""


@dataclass(frozen=True, slots=True)
class Served:
    """The leaf that a replica serves, and the authority that signed it."""

    leaf: Leaf
    certificate: x509.Certificate
    issuer: x509.Certificate


@dataclass(frozen=True, slots=True)
class View:
    """What one replica knows.

    `bundles` are the `caBundle`s of all entries of ours, each once. `settled` are the authorities that this replica has
    seen in all of them for the settle time.
    """

    authorities: Authorities
    bundles: tuple[bytes, ...]
    settled: frozenset[x509.Certificate]
    served: Served | None
    now: datetime

    @property
    def live(self) -> tuple[x509.Certificate, ...]:
        """What the bundles hold, as often as they do."""
        return tuple(certificate for found in self.bundles for certificate in bundle.read(found))

    def holds(self, authority: Authority | None) -> TypeGuard[Authority]:
        """Whether there is such an authority, and it is in its time."""
        return authority is not None and bundle.valid(authority.certificate, self.now)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an installation's certificates are to be like. `jitter`, from -1 to 1, is a replica's own."""

    name: str
    lifetimes: Lifetimes
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class Store:
    """Write the Secret; `event` says what that means."""

    authorities: Authorities
    event: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Write this bundle into every entry that holds another."""

    bundle: bytes


@dataclass(frozen=True, slots=True)
class Sign:
    """Sign a leaf of one's own by this authority, and serve it."""

    authority: Authority


Step = Store | Publish | Sign


def decide(view: View, terms: Terms) -> Step | None:
    """The next step; None when all is as it should be."""
    for rule in _RULES:
        step = rule(view, terms)
        if step is not None:
            return step
    return None


def without_the_api_server(view: View, terms: Terms, confirmed: datetime) -> Sign | None:
    """The next step when nothing could be read: renew by what was read last, at the time `confirmed`.

    For a leaf's life at most. A predecessor stays in the bundle long enough for that.
    """
    if view.now >= confirmed + terms.lifetimes.leaf:
        return None
    return _sign(view, terms)


def _restore(view: View, terms: Terms) -> Store | None:
    """Get an authority that signs where there is none, because the Secret is new, damaged or slept past its end."""
    held = view.authorities
    faulty = held.faults or (held.since is not None and held.since - view.now > _AHEAD)
    if view.holds(held.current):
        return Store(_whole(view), "secret repaired") if faulty else None
    whole = replace(_whole(view), current=None)
    if view.holds(held.successor):
        return Store(whole, "secret repaired") if faulty else None
    made = Authority.create(terms.name, view.now, terms.lifetimes.ca)
    if _at_stake(view):
        return Store(replace(whole, successor=made), "successor created")
    return Store(replace(whole, current=made, successor=None), "authority created")


def _demote(view: View, _: Terms) -> Store | None:
    """Let an authority that somebody put into the Secret wait like any successor: the bundles have others."""
    held, served = view.authorities, view.served
    if not view.holds(held.current):
        return None
    newcomer = held.current.certificate
    known = view.live
    serves = served is not None and served.issuer == newcomer and bundle.valid(served.certificate, view.now)
    if newcomer in known or serves or not any(bundle.valid(certificate, view.now) for certificate in known):
        return None
    waiting = replace(view, authorities=replace(held, current=None, successor=held.current))
    return Store(_whole(waiting), "authority replaced")


def _promote(view: View, _: Terms) -> Store | None:
    """Let the successor sign once every API server knows it; at once where nothing that is served is trusted."""
    held = view.authorities
    if not view.holds(held.successor):
        return None
    lost = not view.holds(held.current) and not _at_stake(view)
    if held.successor.certificate not in view.settled and not lost:
        return None
    retired = () if held.current is None else (held.current.certificate,)
    promoted = replace(held, current=held.successor, successor=None)
    return Store(_with_predecessors(promoted, retired, view.now), "authority rotated")


def _retain(view: View, _: Terms) -> Store | None:
    """Keep the authority of the leaf that is served, should the Secret have lost it."""
    served = view.served
    if served is None or not _still_serves(served, view.now) or served.issuer in view.authorities.certificates:
        return None
    return Store(_with_predecessors(view.authorities, (served.issuer,), view.now), "authority retained")


def _sign(view: View, terms: Terms) -> Sign | None:
    """Have a leaf that is valid, by the current authority, with a third of its life ahead."""
    current, served = view.authorities.current, view.served
    if not view.holds(current):
        return None
    if served is None or not bundle.valid(served.certificate, view.now):
        return Sign(current)
    if served.issuer != current.certificate:
        return Sign(current) if current.certificate in view.settled else None
    end, life = served.certificate.not_valid_after_utc, terms.lifetimes.leaf
    longer = min(view.now + life, current.certificate.not_valid_after_utc) - end
    return Sign(current) if due(served.certificate, life, terms.jitter, view.now) and longer > life / 10 else None


def _publish(view: View, _: Terms) -> Publish | None:
    """Have exactly our authorities in every entry."""
    wanted = bundle.render(view.authorities.certificates)
    return Publish(wanted) if any(found != wanted for found in view.bundles) else None


def _begin(view: View, terms: Terms) -> Store | None:
    """Put a successor beside an authority that comes to its end."""
    held = view.authorities
    if held.current is None or view.holds(held.successor):
        return None
    if not due(held.current.certificate, terms.lifetimes.ca, terms.jitter, view.now):
        return None
    made = Authority.create(terms.name, view.now, terms.lifetimes.ca)
    return Store(replace(held, successor=made), "successor created")


def _drop(view: View, terms: Terms) -> Store | None:
    """Let go of predecessors that no leaf can be of any more."""
    held = view.authorities
    over = held.since is not None and view.now - held.since >= terms.lifetimes.retention
    kept = tuple(
        certificate
        for certificate in held.predecessors
        if (not over and view.now < certificate.not_valid_after_utc)
        or (view.served is not None and certificate == view.served.issuer)
    )
    if kept == held.predecessors:
        return None
    return Store(replace(held, predecessors=kept, since=held.since if kept else None), "predecessor dropped")


_RULES: Final[tuple[Callable[[View, Terms], Step | None], ...]] = (
    _restore,
    _demote,
    _promote,
    _sign,
    _retain,
    _publish,
    _begin,
    _drop,
)


def _whole(view: View) -> Authorities:
    """What of the authorities can be used, with what the bundles and the served leaf know beside it.

    Somebody may be serving a leaf of an authority that the Secret has lost, so it stays trusted for a while.
    """
    held = view.authorities
    lost = () if held.current is None or view.holds(held.current) else (held.current.certificate,)
    own = () if view.served is None else (view.served.issuer,)
    known = (*lost, *own, *held.predecessors, *view.live)
    usable = replace(
        held,
        successor=held.successor if view.holds(held.successor) else None,
        predecessors=(),
        since=None,
        faults=(),
    )
    return _with_predecessors(usable, known, view.now)


def _with_predecessors(held: Authorities, more: tuple[x509.Certificate, ...], now: datetime) -> Authorities:
    """The authorities with these as predecessors too, unless they ended."""
    signing = [authority.certificate for authority in (held.current, held.successor) if authority is not None]
    named = dict.fromkeys((*more, *held.predecessors))
    kept = tuple(one for one in named if one not in signing and now < one.not_valid_after_utc)
    return replace(held, predecessors=kept, since=now if kept else None)


def _at_stake(view: View) -> bool:
    """Whether some API server may trust a leaf of another authority than the successor, so that nothing is hurried."""
    successor = view.authorities.successor
    coming = None if successor is None else successor.certificate
    return any(bundle.valid(certificate, view.now) for certificate in view.live if certificate != coming)


def _still_serves(served: Served, now: datetime) -> bool:
    return bundle.valid(served.certificate, now) and bundle.valid(served.issuer, now)
