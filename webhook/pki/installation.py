"""An installation: the names of what belongs to it in the cluster, and how long its certificates live."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

_SPENT = 2 / 3
"""The part of its life after which a certificate is renewed."""

_JITTER = 0.1
"""How much earlier or later than that, so that replicas do not act all at once."""

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything of an installation is named after it; `extra_hosts` are for webhooks that are called by URL."""

    namespace: str
    name: str
    extra_hosts: tuple[str, ...] = ()

    @property
    def secret(self) -> str:
        """The name of the Secret that holds the authorities."""
        return f"{self.name}-ca"

    @property
    def secrets(self) -> str:
        """The collection that the Secret is in."""
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    @property
    def deployment(self) -> str:
        """The path of the Deployment, which owns a Secret that was made anew."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}"

    @property
    def configurations(self) -> tuple[str, str]:
        """The collections of webhook configurations; each holds one of ours, named like the installation."""
        return f"{_REGISTRATION}/mutatingwebhookconfigurations", f"{_REGISTRATION}/validatingwebhookconfigurations"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What leaves are for. The first is the name that the API server expects."""
        service = f"{self.name}.{self.namespace}"
        return (f"{service}.svc", service, self.name, *self.extra_hosts)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long authorities and leaves live.

    `settle` is how long an authority is in every `caBundle` before it signs: longer than an API server is behind in
    seeing a configuration.
    """

    ca: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=7)
    settle: timedelta = timedelta(seconds=60)

    @property
    def retention(self) -> timedelta:
        """How long a predecessor stays in the bundle.

        A replica without the API server goes on signing by what it last read, for a leaf's life at most; such a leaf
        then lives its life.
        """
        return 2 * self.leaf + self.settle


def due(certificate: x509.Certificate, life: timedelta, jitter: float, now: datetime) -> bool:
    """Whether a certificate is to be renewed. `jitter` is from -1 to 1.

    When a third of its own life is left; or of `life`, the usual one, if that is less: to be renewed in time takes no
    more, and a certificate that somebody made for longer is kept for longer.
    """
    end = certificate.not_valid_after_utc
    life = min(life, end - certificate.not_valid_before_utc)
    return now >= end - life * (1 - _SPENT * (1 + _JITTER * jitter))
