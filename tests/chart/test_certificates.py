"""The objects of each mode of `tls`: certificates, arguments, and the writer of the bundle."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.chart.render import (
    FULLNAME,
    NAMESPACE,
    WEBHOOK_MODES,
    container,
    entries,
    of_kind,
    only,
    pod_spec,
)

pytestmark = pytest.mark.slow

HOST = f"{FULLNAME}.{NAMESPACE}.svc"
SELF_MANAGED = [mode for mode in WEBHOOK_MODES if mode not in ("small",) and not mode.startswith(("cert", "existing"))]


def arguments(mode: str) -> list[str]:
    found: list[str] = container(mode)["args"]
    assert found[:2] == ["serve", "--config=/etc/gpushare-webhook/settings/settings.yaml"]
    return found[2:]


def mounted(mode: str) -> dict[str, Any]:
    """The volume at each mount path."""
    volumes = {volume["name"]: volume for volume in pod_spec(mode)["volumes"]}
    return {mount["mountPath"]: volumes[mount["name"]] for mount in container(mode)["volumeMounts"]}


@pytest.mark.parametrize("mode", SELF_MANAGED)
def test_self_managed_secret_is_rendered_empty(mode: str) -> None:
    assert arguments(mode)[:2] == ["--tls-mode=self-managed", f"--installed-as={NAMESPACE}/{FULLNAME}"]
    secret = only("Secret", mode)
    assert secret["metadata"]["name"] == f"{FULLNAME}-ca"
    assert not {"data", "stringData"} & secret.keys()
    assert "/etc/gpushare-webhook/tls" not in mounted(mode)


@pytest.mark.parametrize("mode", WEBHOOK_MODES)
def test_bundle_is_rendered_only_for_existing_secret(mode: str) -> None:
    bundles = {one["clientConfig"].get("caBundle") for one in entries(mode)}
    if mode == "existing-secret":
        (bundle,) = bundles
        assert base64.b64decode(bundle).startswith(b"-----BEGIN CERTIFICATE-----\n")
    else:
        assert bundles == {None}


def test_cert_manager_with_own_authority() -> None:
    assert arguments("cert-manager") == [
        "--tls-mode=files",
        "--tls-cert=/etc/gpushare-webhook/tls/tls.crt",
        "--tls-key=/etc/gpushare-webhook/tls/tls.key",
    ]
    certificates = {one["metadata"]["name"]: one["spec"] for one in of_kind("Certificate", "cert-manager")}
    issuers = {one["metadata"]["name"]: one["spec"] for one in of_kind("Issuer", "cert-manager")}
    serving, authority = certificates[FULLNAME], certificates[f"{FULLNAME}-authority"]
    assert serving["dnsNames"] == [HOST]
    assert issuers[serving["issuerRef"]["name"]] == {"ca": {"secretName": authority["secretName"]}}
    assert issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}
    assert authority["isCA"] is True
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert mounted("cert-manager")["/etc/gpushare-webhook/tls"]["secret"] == {"secretName": serving["secretName"]}
    assert of_kind("Secret", "cert-manager") == []
    # An upgrade from the self-managed mode must not meet that mode's Secret.
    assert f"{FULLNAME}-ca" not in (serving["secretName"], authority["secretName"])
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        annotations = only(kind, "cert-manager")["metadata"]["annotations"]
        assert annotations["cert-manager.io/inject-ca-from"] == f"{NAMESPACE}/{FULLNAME}"


@pytest.mark.parametrize(
    ("url", "names", "addresses"),
    [
        ("https://gpus.example.com", [HOST, "gpus.example.com"], None),
        ("https://10.0.0.1:8443", [HOST], ["10.0.0.1"]),
        ("https://[fd00::1]:8443", [HOST], ["fd00::1"]),
        (f"https://{HOST}:443", [HOST], None),
    ],
)
def test_certificate_contains_host_of_url(url: str, names: list[str], addresses: list[str] | None) -> None:
    values = {"tls": {"mode": "cert-manager", "certManager": {"issuerRef": {"name": "x"}}}, "webhooks": {"url": url}}
    serving = only("Certificate", values)["spec"]
    assert (serving["dnsNames"], serving.get("ipAddresses")) == (names, addresses)
