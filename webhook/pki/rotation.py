"""What one replica does next about its certificates: a pure function of what it knows at one moment.

A rotation has three phases, and the Secret shows every replica which one it is in:

1. The current authority has a successor. Both are published in every `caBundle`; the current one signs.
2. The successor has been in every `caBundle` for the settle time, so every API server has seen it. It becomes current
   and signs. The former current authority becomes a predecessor and stays in the bundle.
3. No certificate of a predecessor can be in use any longer: it leaves the Secret, and then the bundles.

`decide` tries the rules of `_RULES` in order and returns the first step that one asks for. The caller takes that step,
reads the cluster again and asks for the next, so each step starts from what is there, whichever client wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, TypeGuard

from cryptography import x509

from webhook.pki import bundle
from webhook.pki.authorities import Authorities, Authority

_SPENT = 2 / 3
"""The part of its lifetime after which a certificate is renewed."""

_JITTER = 0.1
"""How much earlier or later than that, relatively, so that replicas do not all act at once."""

_AHEAD = timedelta(minutes=5)
"""How far the clocks of two replicas may differ. A time further in the future is damage."""


class Lifetimes(NamedTuple):
    """The lifetimes of authorities and serving certificates.

    `settle` is how long an authority is in every `caBundle` before it signs: longer than an API server takes to see a
    changed configuration.
    """

    ca: timedelta
    leaf: timedelta
    settle: timedelta

    @property
    def retention(self) -> timedelta:
        """How long a predecessor stays in the bundle.

        A replica that has lost the API server keeps signing by the authority that it last read, for one lifetime of a
        certificate at most. The last certificate that it signs is then valid for another one.
        """
        return 2 * self.leaf + self.settle


class Served(NamedTuple):
    """The certificate that a replica serves, and that of the authority which signed it."""

    certificate: x509.Certificate
    issuer: x509.Certificate


Bundles: TypeAlias = Mapping[bytes, tuple[x509.Certificate, ...]]
"""The certificates of each `caBundle`, by its text."""


class View(NamedTuple):
    """What one replica knows.

    `settled` are the authorities that this replica has seen in all bundles for the settle time.
    """

    authorities: Authorities
    bundles: Bundles
    settled: frozenset[x509.Certificate]
    served: Served | None
    now: datetime

    @property
    def published(self) -> tuple[x509.Certificate, ...]:
        """The certificates of all bundles, as often as they occur."""
        return tuple(chain.from_iterable(self.bundles.values()))

    def is_valid(self, authority: Authority | None) -> TypeGuard[Authority]:
        """Whether there is such an authority, and its certificate is valid now."""
        return authority is not None and bundle.valid(authority.certificate, self.now)


class CertificateTerms(NamedTuple):
    """The name and lifetimes of an installation's certificates. `jitter`, from -1 to 1, differs between replicas."""

    name: str
    lifetimes: Lifetimes
    jitter: float = 0.0


class Store(NamedTuple):
    """Write these authorities into the Secret. `event` is the log event of the write."""

    authorities: Authorities
    event: str


class Publish(NamedTuple):
    """Write the bundle of these authorities into every entry that has another one."""

    authorities: tuple[x509.Certificate, ...]


class Sign(NamedTuple):
    """Sign a serving certificate by this authority, and serve it."""

    authority: Authority


Step = Store | Publish | Sign


def decide(view: View, terms: CertificateTerms) -> Step | None:
    """The next step; None if there is nothing to do."""
    return next((step for rule in _RULES if (step := rule(view, terms))), None)


def without_the_api_server(view: View, terms: CertificateTerms, confirmed: datetime) -> Sign | None:
    """The next step if the cluster cannot be read: renew by the authority that was read last, at the time `confirmed`.

    For one lifetime of a certificate at most; a predecessor stays in the bundle long enough for that.
    """
    if view.now >= confirmed + terms.lifetimes.leaf:
        return None
    return _sign(view, terms)


def _restore(view: View, terms: CertificateTerms) -> Store | None:
    """Create an authority if none can sign, because the Secret is new or damaged, or its authority has ended."""
    authorities = view.authorities
    faulty = authorities.faults or (authorities.since is not None and authorities.since - view.now > _AHEAD)
    if view.is_valid(authorities.current):
        return Store(_whole(view), "secret repaired") if faulty else None
    whole = _whole(view)._replace(current=None)
    if view.is_valid(authorities.successor):
        return Store(whole, "secret repaired") if faulty else None
    made = Authority.create(terms.name, view.now, terms.lifetimes.ca)
    if _may_be_trusted(view):
        return Store(whole._replace(successor=made), "successor created")
    return Store(whole._replace(current=made, successor=None), "authority created")


def _demote(view: View, _: CertificateTerms) -> Store | None:
    """Make an authority that another client put into the Secret a successor, if the bundles do not have it yet."""
    authorities, served = view.authorities, view.served
    if not view.is_valid(authorities.current):
        return None
    current = authorities.current.certificate
    published = view.published
    serves = served is not None and served.issuer == current and bundle.valid(served.certificate, view.now)
    if current in published or serves or not any(bundle.valid(certificate, view.now) for certificate in published):
        return None
    waiting = view._replace(authorities=authorities._replace(current=None, successor=authorities.current))
    return Store(_whole(waiting), "authority replaced")


def _promote(view: View, _: CertificateTerms) -> Store | None:
    """Make the successor current once every API server has seen it; at once if no certificate in use is trusted."""
    authorities = view.authorities
    if not view.is_valid(authorities.successor):
        return None
    lost = not view.is_valid(authorities.current) and not _may_be_trusted(view)
    if authorities.successor.certificate not in view.settled and not lost:
        return None
    retired = () if authorities.current is None else (authorities.current.certificate,)
    promoted = authorities._replace(current=authorities.successor, successor=None)
    return Store(_with_predecessors(promoted, retired, view.now), "authority rotated")


def _retain(view: View, _: CertificateTerms) -> Store | None:
    """Keep the authority of the served certificate if the Secret has lost it."""
    served, now = view.served, view.now
    if served is None or not bundle.valid(served.certificate, now) or not bundle.valid(served.issuer, now):
        return None
    if served.issuer in view.authorities.certificates:
        return None
    return Store(_with_predecessors(view.authorities, (served.issuer,), view.now), "authority retained")


def _sign(view: View, terms: CertificateTerms) -> Sign | None:
    """Serve a valid certificate of the current authority that has a third of its lifetime left."""
    current, served = view.authorities.current, view.served
    if not view.is_valid(current):
        return None
    if served is None or not bundle.valid(served.certificate, view.now):
        return Sign(current)
    if served.issuer != current.certificate:
        return Sign(current) if current.certificate in view.settled else None
    end, life = served.certificate.not_valid_after_utc, terms.lifetimes.leaf
    longer = min(view.now + life, current.certificate.not_valid_after_utc) - end
    return Sign(current) if due(served.certificate, life, terms.jitter, view.now) and longer > life / 10 else None


def _publish(view: View, _: CertificateTerms) -> Publish | None:
    """Publish exactly the authorities of the Secret in every entry."""
    wanted = view.authorities.certificates
    return Publish(wanted) if view.bundles.keys() - {bundle.render(wanted)} else None


def _begin(view: View, terms: CertificateTerms) -> Store | None:
    """Create a successor for an authority that is due for renewal."""
    authorities = view.authorities
    if authorities.current is None or view.is_valid(authorities.successor):
        return None
    if not due(authorities.current.certificate, terms.lifetimes.ca, terms.jitter, view.now):
        return None
    made = Authority.create(terms.name, view.now, terms.lifetimes.ca)
    return Store(authorities._replace(successor=made), "successor created")


def _drop(view: View, terms: CertificateTerms) -> Store | None:
    """Drop predecessors whose certificates have all ended."""
    authorities = view.authorities
    over = authorities.since is not None and view.now - authorities.since >= terms.lifetimes.retention
    kept = tuple(
        certificate
        for certificate in authorities.predecessors
        if (not over and view.now < certificate.not_valid_after_utc)
        or (view.served is not None and certificate == view.served.issuer)
    )
    if kept == authorities.predecessors:
        return None
    since = authorities.since if kept else None
    return Store(authorities._replace(predecessors=kept, since=since), "predecessor dropped")


_RULES: Final[tuple[Callable[[View, CertificateTerms], Step | None], ...]] = (
    _restore,
    _demote,
    _promote,
    _sign,
    _retain,
    _publish,
    _begin,
    _drop,
)


def due(certificate: x509.Certificate, life: timedelta, jitter: float, now: datetime) -> bool:
    """Whether a certificate must be renewed: when a third of its lifetime is left. `jitter` is from -1 to 1.

    If its lifetime is longer than `life`, the usual one, it is renewed when a third of `life` is left.
    """
    end = certificate.not_valid_after_utc
    life = min(life, end - certificate.not_valid_before_utc)
    return now >= end - life * (1 - _SPENT * (1 + _JITTER * jitter))


def _whole(view: View) -> Authorities:
    """The usable authorities of the Secret, with those of the bundles and of the served certificate as predecessors.

    Another replica may serve a certificate of an authority that the Secret has lost, so that one stays trusted for a
    while.
    """
    current, successor = view.authorities.current, view.authorities.successor
    lost = () if current is None or view.is_valid(current) else (current.certificate,)
    own = () if view.served is None else (view.served.issuer,)
    known = (*lost, *own, *view.authorities.predecessors, *view.published)
    usable = Authorities(current, successor if view.is_valid(successor) else None)
    return _with_predecessors(usable, known, view.now)


def _with_predecessors(authorities: Authorities, more: tuple[x509.Certificate, ...], now: datetime) -> Authorities:
    """The authorities with these as additional predecessors, unless they have ended."""
    signing, named = authorities.signing, dict.fromkeys((*more, *authorities.predecessors))
    kept = tuple(root for root in named if root not in signing and now < root.not_valid_after_utc)
    return authorities._replace(predecessors=kept, since=now if kept else None)


def _may_be_trusted(view: View) -> bool:
    """Whether an API server may trust a certificate of an authority other than the successor, so there is no hurry."""
    successor = view.authorities.successor
    coming = None if successor is None else successor.certificate
    return any(bundle.valid(certificate, view.now) for certificate in view.published if certificate != coming)
