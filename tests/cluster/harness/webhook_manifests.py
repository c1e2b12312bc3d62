"""A small installation of the webhook: the configurations of its chart, and pods without the chart's options."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.chart.render import only
from tests.cluster.harness import webhook_image

if TYPE_CHECKING:
    from tests.cluster.harness.api import Object


NAME = "gpushare-webhook"
HOST = f"{NAME}.{NAME}.svc"
LABELS = {"app": NAME}
RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
NO_GUARD = {"enabled": False}
"""Values without the guard, so that the failure policy of the validating hook is `Fail`."""

_MOUNT = "/etc/gpushare-webhook"


def namespace() -> Object:
    """The webhook's namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}


def secret(certificate: bytes, key: bytes) -> Object:
    """The serving certificate."""
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items()}
    return _object("v1", "Secret", {"type": "kubernetes.io/tls", "data": encoded})


def config_map(files: dict[str, Object]) -> Object:
    """The files `settings.yaml` and `facts.yaml`; JSON is YAML."""
    return _object("v1", "ConfigMap", {"data": {name: json.dumps(content) for name, content in files.items()}})


def service() -> Object:
    """The Service by which the API server calls."""
    ports = [{"port": 443, "targetPort": 10250}]
    return _object("v1", "Service", {"spec": {"selector": LABELS, "ports": ports}})


def deployment(replicas: int, limits: Object | None = None) -> Object:
    """The webhook's pods, as the restricted Pod Security profile requires, with limits if there are any."""
    probe = {"httpGet": {"path": "/readyz", "port": 8080}, "periodSeconds": 1}
    tls, settings = f"{_MOUNT}/tls", f"{_MOUNT}/settings"
    arguments = [
        *("serve", f"--config={settings}/settings.yaml", f"--facts={settings}/facts.yaml"),
        *(f"--tls-cert={tls}/tls.crt", f"--tls-key={tls}/tls.key"),
    ]
    container = {
        "name": "webhook",
        "image": webhook_image.IMAGE,
        "args": arguments,
        "ports": [{"containerPort": 10250}, {"containerPort": 8080}],
        "readinessProbe": probe,
        "resources": {"limits": limits or {}},
        "volumeMounts": [{"name": "tls", "mountPath": tls}, {"name": "settings", "mountPath": settings}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [
            {"name": "tls", "secret": {"secretName": NAME}},
            {"name": "settings", "configMap": {"name": NAME}},
        ],
    }
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    # A pod goes only when its successor is ready.
    strategy = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "strategy": strategy,
        "template": template,
    }
    return _object("apps/v1", "Deployment", {"spec": spec})


def mutating(authority: bytes) -> Object:
    """The chart's mutating configuration."""
    return _configuration("MutatingWebhookConfiguration", authority)


def validating(authority: bytes) -> Object:
    """The chart's validating configuration."""
    return _configuration("ValidatingWebhookConfiguration", authority)


def _configuration(kind: str, authority: bytes) -> Object:
    rendered = only(kind, {"fullnameOverride": NAME, "guard": NO_GUARD}, namespace=NAME)
    bundle = {"caBundle": base64.b64encode(authority).decode()}
    entries = [entry | {"clientConfig": entry["clientConfig"] | bundle} for entry in rendered["webhooks"]]
    return {**rendered, "metadata": {"name": NAME}, "webhooks": entries}


def _object(version: str, kind: str, body: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": NAME, "namespace": NAME}, **body}
