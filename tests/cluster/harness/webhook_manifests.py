"""A plain manifest that installs the webhook, without the options of its chart."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

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
_MOUNT = "/etc/gpushare-webhook"

# Pod Security levels that forbid hostPath.
_STRICT = ["baseline", "restricted"]
# The webhook's own namespace, and those that its settings exempt by default.
_EXCLUDED = [NAME, "kube-system", "kube-node-lease", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin"]

# The default resources, as CEL. A pod without containers reaches the mutating webhook with `containers: null`.
_NAMES_GPU = (
    "[{spec}.?containers.orValue([]), {spec}.?initContainers.orValue([])].exists(list, list != null && list.exists(c, "
    "[c.?resources.?limits.orValue({{}}), c.?resources.?requests.orValue({{}})].exists(amounts, amounts.exists(name, "
    "name in ['nvidia.com/gpu', 'nvidia.com/gpu.shared'] || name.startsWith('nvidia.com/mig-')))))"
)
_LOST_TOLERATION = (
    "['nvidia.com/gpu', 'nvidia.com/gpu.shared'].map(key, {'key': key, 'operator': 'Exists', 'effect': 'NoSchedule'})"
    ".exists(ours, ours in oldObject.spec.?tolerations.orValue([]) && !(ours in object.spec.?tolerations.orValue([])))"
)
# Where each kind keeps its pod template, as CEL.
_TEMPLATES = {
    "template": "object.spec.template",
    "job-template": "object.spec.jobTemplate.spec.template",
    "pod-template": "object.template",
}
_KINDS = {
    "template": [
        ("apps", ["deployments", "statefulsets", "daemonsets", "replicasets"]),
        ("batch", ["jobs"]),
        ("", ["replicationcontrollers"]),
    ],
    "job-template": [("batch", ["cronjobs"])],
    "pod-template": [("", ["podtemplates"])],
}


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
    """The hook for pods: where hostPath is allowed, where Pod Security forbids it, and for lost tolerations."""
    entries = [
        _entry("pods", "/mutate", authority, "Ignore", "NotIn"),
        _entry("pods-without-hostpath", "/mutate/without-hostpath", authority, "Ignore", "In"),
        _entry("tolerations", "/mutate", authority, "Ignore"),
    ]
    for entry in entries:
        entry["rules"] = [_rule("", ["pods"], ["CREATE"])]
        entry["matchConditions"] = [{"name": "names-a-gpu", "expression": _NAMES_GPU.format(spec="object.spec")}]
        entry["reinvocationPolicy"] = "IfNeeded"
    entries[-1]["rules"] = [_rule("", ["pods"], ["UPDATE"])]
    entries[-1]["matchConditions"].append({"name": "lost-a-toleration", "expression": _LOST_TOLERATION})
    return _configuration("MutatingWebhookConfiguration", entries)


def validating(authority: bytes) -> Object:
    """The hook for pods and for the pod templates of workloads, where only a new or changed template is checked."""
    pods = _entry("pods", "/validate", authority, "Fail")
    pods["rules"] = [_rule("", ["pods"], ["CREATE"])]
    pods["matchConditions"] = [{"name": "names-a-gpu", "expression": _NAMES_GPU.format(spec="object.spec")}]
    return _configuration("ValidatingWebhookConfiguration", [pods, *(_workloads(form, authority) for form in _KINDS)])


def _workloads(form: str, authority: bytes) -> Object:
    entry = _entry(f"workloads-{form}", "/validate", authority, "Fail")
    template = _TEMPLATES[form]
    former = template.replace("object", "oldObject", 1)
    entry["rules"] = [_rule(group, resources, ["CREATE", "UPDATE"]) for group, resources in _KINDS[form]]
    entry["matchConditions"] = [
        {"name": "template-is-new", "expression": f"oldObject == null || {template} != {former}"},
        {"name": "names-a-gpu", "expression": _NAMES_GPU.format(spec=f"{template}.spec")},
    ]
    return entry


def _entry(name: str, path: str, authority: bytes, policy: str, strictness: str = "") -> Object:
    """One webhook; `strictness` is the operator by which it is split on Pod Security's label."""
    others = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": _EXCLUDED}
    strict = {"key": "pod-security.kubernetes.io/enforce", "operator": strictness, "values": _STRICT}
    return {
        "name": f"{name}.gpushare-webhook.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "failurePolicy": policy,
        "clientConfig": {
            "service": {"namespace": NAME, "name": NAME, "path": path},
            "caBundle": base64.b64encode(authority).decode(),
        },
        "namespaceSelector": {"matchExpressions": [others, strict] if strictness else [others]},
    }


def _rule(group: str, resources: list[str], operations: list[str]) -> Object:
    return {"apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": resources}


def _configuration(kind: str, entries: list[Object]) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": NAME},
        "webhooks": entries,
    }


def _object(version: str, kind: str, body: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": NAME, "namespace": NAME}, **body}
