"""Credentials for the API server: tokens, kubeconfig files, and the key that signs service account tokens."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

if TYPE_CHECKING:
    from pathlib import Path

NODE = "node1"

# Users and groups for which the API server itself makes the roles (kubernetes.io, "Using RBAC authorization").
USERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
}


def write_tokens(path: Path) -> dict[str, str]:
    """Write the API server's static token file; returns the token of each of `USERS`."""
    tokens = {role: secrets.token_hex(16) for role in USERS}
    rows = [f'{tokens[role]},{user},{user},"{group}"' for role, (user, group) in USERS.items()]
    path.write_text("\n".join(rows) + "\n")
    path.chmod(0o600)
    return tokens


def write_kubeconfig(path: Path, server: str, authority: Path, token: str) -> Path:
    """Write a kubeconfig for one server and one token."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {"name": "cluster", "cluster": {"server": server, "certificate-authority": str(authority)}}
                ],
                "users": [{"name": "user", "user": {"token": token}}],
                "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
                "current-context": "cluster",
            }
        )
    )
    path.chmod(0o600)
    return path


def write_signing_key(path: Path) -> Path:
    """Write a fresh RSA key in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.touch(0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path


def write_admission_control(folder: Path, caller: bytes) -> Path:
    """Write the API server's admission configuration, by which it shows a certificate to every webhook.

    `caller` is the certificate and its key, PEM; see kubernetes.io, "Authenticate API servers".
    """
    pair = folder / "caller.pem"
    pair.touch(0o600)
    pair.write_bytes(caller)
    kubeconfig = folder / "webhooks.kubeconfig"
    user = {"client-certificate": str(pair), "client-key": str(pair)}
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}))
    own = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    plugins = [{"name": f"{kind}AdmissionWebhook", "configuration": own} for kind in ("Mutating", "Validating")]
    configuration = folder / "admission.json"
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    configuration.write_text(json.dumps(head | {"plugins": plugins}))
    return configuration
