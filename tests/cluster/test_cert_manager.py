"""The real cert-manager signs certificates, the kubelet mounts them, and the cainjector writes the bundles.

Its controllers and its cainjector run next to the control plane. Its webhook, which checks its own objects, does not.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from tests.cluster.harness import audit, certmanager
from tests.cluster.harness.creates import creating, lost
from tests.cluster.harness.release import CORE, HOST, NAME, NAMESPACE, prepared
from tests.cluster.harness.waiting import met, wait_for
from webhook.policy.workloads.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

CERTIFICATES = f"/apis/{certmanager.GROUP}/v1/namespaces/{NAMESPACE}/certificates"


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    with prepared(cluster, "cert-manager") as release:
        release.upgrade()
        yield release


def _secret(release: Release) -> dict[str, bytes]:
    """The last certificate that cert-manager signed for the webhook."""
    data = release.cluster.api.get(f"{CORE}/secrets/{NAME}-tls")["data"]
    return {name: base64.b64decode(content) for name, content in data.items()}


def _verify(bundle: bytes, leaf: bytes) -> None:
    """Raises `VerificationError` when the API server would not trust a leaf by this bundle."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).build_server_verifier(x509.DNSName(HOST))
    verifier.verify(x509.load_pem_x509_certificate(leaf), [])


def _renew(release: Release, name: str) -> None:
    """Renew a Certificate and wait until the new one is issued."""
    api, path = release.cluster.api, f"{CERTIFICATES}/{name}"
    revision = api.get(path)["status"]["revision"]
    certmanager.renew(release.cluster, NAMESPACE, name)
    api.wait_for(path, "to be issued", lambda now: met(now, "Ready") and now["status"]["revision"] > revision)


def test_ca_injector_fills_every_bundle(release: Release) -> None:
    secret = _secret(release)
    bundles = release.bundles()
    assert len(bundles) == 12 + len(PRESETS)  # each preset has an entry of its own
    assert set(bundles.values()) == {secret["ca.crt"]}
    _verify(secret["ca.crt"], secret["tls.crt"])


def test_renewed_certificate_is_served_without_lost_creates(release: Release, space: Workspace) -> None:
    with creating(space) as creates:
        creates.wait_for_more()
        _renew(release, NAME)
        release.wait_served(_secret(release)["tls.crt"])
        creates.wait_for_more()
    assert lost(creates.answered) == []


def test_renewed_authority_is_added_to_every_bundle(release: Release, space: Workspace) -> None:
    former = _secret(release)
    with creating(space) as creates:
        creates.wait_for_more()
        _renew(release, f"{NAME}-authority")
        _renew(release, NAME)
        renewed = _secret(release)
        assert renewed["ca.crt"] != former["ca.crt"]
        wait_for(
            "the new one in every bundle", lambda: all(renewed["ca.crt"] in one for one in release.bundles().values())
        )
        for bundle in release.bundles().values():
            assert former["ca.crt"] in bundle
            _verify(bundle, former["tls.crt"])
            _verify(bundle, renewed["tls.crt"])
        release.wait_served(renewed["tls.crt"])
        creates.wait_for_more()
    assert lost(creates.answered) == []


@pytest.mark.parametrize("role", certmanager.RIGHTS)
def test_cert_manager_components_are_never_forbidden(release: Release, role: str) -> None:
    asked = audit.requests(release.cluster.control, certmanager.NAMESPACE, f"cert-manager-{role}")
    assert asked
    # The other denial is that of `HEAD /`, which tests whether the API server limits its clients itself.
    assert [one for one in asked if one.refused and one.resource] == []
