"""An installation: the names of its objects in the cluster, and the lifetimes of its certificates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

_SPENT = 2 / 3
"""The part of its lifetime after which a certificate is renewed."""

_JITTER = 0.1
"""How much earlier or later than that, relatively, so that replicas do not all act at once."""

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation, after which its objects are named. `extra_hosts` are for webhooks that are called by URL."""

    namespace: str
    name: str
    extra_hosts: tuple[str, ...] = ()

    @property
    def secret(self) -> str:
        """The name of the Secret that holds the authorities."""
        return f"{self.name}-ca"

    @property
    def secrets(self) -> str:
        """The path of the collection that holds the Secret."""
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    @property
    def deployment(self) -> str:
        """The path of the Deployment, which owns the Secret."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/{self.name}"

    @property
    def configurations(self) -> tuple[str, str]:
        """The paths of the collections of webhook configurations. Each has one with the name of the installation."""
        return f"{_REGISTRATION}/mutatingwebhookconfigurations", f"{_REGISTRATION}/validatingwebhookconfigurations"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of serving certificates. The first is the name that the API server expects."""
        service = f"{self.name}.{self.namespace}"
        return (f"{service}.svc", service, self.name, *self.extra_hosts)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The lifetimes of authorities and serving certificates.

    `settle` is how long an authority is in every `caBundle` before it signs: longer than an API server takes to see a
    changed configuration.
    """

    ca: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=7)
    settle: timedelta = timedelta(seconds=60)

    @property
    def retention(self) -> timedelta:
        """How long a predecessor stays in the bundle.

        A replica that has lost the API server keeps signing by the authority that it last read, for one lifetime of a
        certificate at most. The last certificate that it signs is then valid for another one.
        """
        return 2 * self.leaf + self.settle


def due(certificate: x509.Certificate, life: timedelta, jitter: float, now: datetime) -> bool:
    """Whether a certificate must be renewed: when a third of its lifetime is left. `jitter` is from -1 to 1.

    If its lifetime is longer than `life`, the usual one, it is renewed when a third of `life` is left.
    """
    end = certificate.not_valid_after_utc
    life = min(life, end - certificate.not_valid_before_utc)
    return now >= end - life * (1 - _SPENT * (1 + _JITTER * jitter))
