"""Certificates by the real cert-manager: it signs, the kubelet mounts what it signed, its cainjector writes bundles."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.certmanager import GROUP, cert_manager, certificate, is_ready, issuer, renew
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook import deployed, objects
from tests.cluster.workloads import assert_completed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.process import Process
    from tests.cluster.harness.workspace import Workspace

NAMESPACE = f"/api/v1/namespaces/{product.NAME}"
CERTIFICATES = f"/apis/{GROUP}/v1/namespaces/{product.NAME}/certificates"


def _signed() -> list[Object]:
    """An authority that signs itself, and the product's certificate signed by it, as users write them."""
    leaf = {"secretName": product.NAME, "dnsNames": [product.HOST]}
    made = [
        issuer("self-signed", {"selfSigned": {}}),
        certificate("authority", "self-signed", {"isCA": True, "commonName": "tests", "secretName": "authority"}),
        issuer("authority", {"ca": {"secretName": "authority"}}),
        certificate(product.NAME, "authority", leaf),
    ]
    return [{**one, "metadata": {**one["metadata"], "namespace": product.NAME}} for one in made]


def _injected(configuration: Object) -> Object:
    """A configuration without bundles, annotated so that they are injected."""
    for entry in configuration["webhooks"]:
        del entry["clientConfig"]["caBundle"]
    annotations = {f"{GROUP}/inject-ca-from": f"{product.NAME}/{product.NAME}"}
    return {**configuration, "metadata": {**configuration["metadata"], "annotations": annotations}}


@pytest.fixture(scope="module", autouse=True)
def processes(cluster: Cluster) -> Iterator[dict[str, Process]]:
    """cert-manager, and the product with its certificate."""
    hooks = [_injected(product.mutating(b"")), _injected(product.validating(b""))]
    with cert_manager(cluster) as processes:
        try:
            with deployed(cluster, [*objects(None, replicas=1), *_signed(), *hooks]):
                yield processes
        finally:
            cluster.api.delete(NAMESPACE)
            wait_for("the namespace to be gone", lambda: cluster.api.find(NAMESPACE) is None)


def _secret(cluster: Cluster) -> dict[str, bytes]:
    data = cluster.api.get(f"{NAMESPACE}/secrets/{product.NAME}")["data"]
    return {name: base64.b64decode(content) for name, content in data.items()}


def _bundles(cluster: Cluster) -> list[bytes]:
    """The bundle of every entry of both configurations."""
    found = [cluster.api.get(f"{path}/{product.NAME}") for path in (MUTATING, VALIDATING)]
    return [base64.b64decode(one["clientConfig"].get("caBundle", "")) for each in found for one in each["webhooks"]]


def _verifies(bundle: bytes, leaf: bytes) -> None:
    """Raises `VerificationError` when the API server would not trust a leaf by this bundle."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).build_server_verifier(x509.DNSName(product.HOST))
    verifier.verify(x509.load_pem_x509_certificate(leaf), [])


def test_every_bundle_is_injected_and_trusts_the_secrets_certificate(cluster: Cluster) -> None:
    secret, bundles = _secret(cluster), _bundles(cluster)
    assert len(bundles) == 7
    assert set(bundles) == {secret["ca.crt"]}
    _verifies(bundles[0], secret["tls.crt"])


def test_a_pod_is_completed(space: Workspace) -> None:
    assert_completed(space.start(pod("one")))


def test_cert_manager_needs_no_more_rights_than_it_has(processes: dict[str, Process]) -> None:
    for process in processes.values():
        assert process.running
        assert "forbidden" not in process.log.read_text().lower()


def test_a_renewed_authority_is_trusted_beside_its_predecessor(cluster: Cluster) -> None:
    former = _secret(cluster)
    for name in ("authority", product.NAME):
        _renewed(cluster, name)
    renewed = _secret(cluster)
    assert renewed["ca.crt"] != former["ca.crt"]
    wait_for("the new one in every bundle", lambda: all(renewed["ca.crt"] in bundle for bundle in _bundles(cluster)))
    for bundle in _bundles(cluster):
        _verifies(bundle, former["tls.crt"])
        _verifies(bundle, renewed["tls.crt"])


def _renewed(cluster: Cluster, name: str) -> None:
    """Have a Certificate issued anew and wait until it is."""
    path = f"{CERTIFICATES}/{name}"
    revision = cluster.api.get(path)["status"]["revision"]
    renew(cluster, product.NAME, name)
    cluster.api.wait_for(path, "to be issued", lambda now: is_ready(now) and now["status"]["revision"] > revision)
