"""What former renders of the chart left behind: `kubectl apply` of rendered manifests deletes nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from webhook.cluster.objects import (
    DEPLOYMENT,
    MUTATING,
    POLICY,
    POLICY_BINDING,
    QUOTA,
    SERVICE_ACCOUNT,
    VALIDATING,
    Kind,
    Object,
    Objects,
    all_of,
)
from webhook.cluster.reading import word

RENDER: Final = "gpushare-webhook/render"
"""The annotation of the chart's objects: the installation, and a digest (templates/_names.tpl of the chart)."""

_LABEL: Final = "app.kubernetes.io/instance"
_OF_HELM: Final = "meta.helm.sh/release-name"
_RBAC: Final = "rbac.authorization.k8s.io"
_CERT_MANAGER: Final = "cert-manager.io"
_PROMETHEUS: Final = "monitoring.coreos.com"

_BUILT_IN: Final = (
    MUTATING,
    VALIDATING,
    POLICY_BINDING,
    POLICY,
    DEPLOYMENT,
    Kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2"),
    Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy"),
    Kind("NetworkPolicy", "networkpolicies", "networking.k8s.io"),
    QUOTA,
    Kind("Service", "services"),
    Kind("ClusterRoleBinding", "clusterrolebindings", _RBAC, is_namespaced=False),
    Kind("ClusterRole", "clusterroles", _RBAC, is_namespaced=False),
    Kind("RoleBinding", "rolebindings", _RBAC),
    Kind("Role", "roles", _RBAC),
    SERVICE_ACCOUNT,
)
_CUSTOM: Final = (
    Kind("ServiceMonitor", "servicemonitors", _PROMETHEUS),
    Kind("PodMonitor", "podmonitors", _PROMETHEUS),
    Kind("PrometheusRule", "prometheusrules", _PROMETHEUS),
    Kind("Certificate", "certificates", _CERT_MANAGER),
    Kind("Issuer", "issuers", _CERT_MANAGER),
)
MADE: Final = (*_BUILT_IN, *_CUSTOM)
"""The kinds that the chart makes, in the order in which to delete: what calls pods precedes them, and mutating hooks
precede validating ones, to which the guard leaves their pods. Lists of Secrets and ConfigMaps would show too much.
"""


class Former(NamedTuple):
    """An object of a former render. `namespace` is empty for one of the whole cluster."""

    kind: str
    namespace: str
    name: str
    created: str


class Renders(NamedTuple):
    """The objects of an installation that are `former`. `unknown`: why there may be more; empty if there are none."""

    former: list[Former]
    unknown: str


async def read_renders(objects: Objects, where: str, settings: Object | None) -> Renders:
    """Read the objects of an installation with another render than its ConfigMap, which is the one in force."""
    now, instance = word(settings, "metadata", "annotations", RENDER), word(settings, "metadata", "labels", _LABEL)
    if not (instance and now.startswith(f"{where}@")):
        return Renders([], f"ConfigMap {where} cannot be read, or has no annotation {RENDER} of this installation")
    namespace, _, name = where.partition("/")
    former, unread, known = [], [], len(objects.left_out)
    for kind in (*_BUILT_IN, *[kind for one in _CUSTOM if (kind := await objects.served([one]))]):
        place = None if kind.group == _RBAC else namespace
        async for found in all_of(objects, kind, place, labelSelector=f"{_LABEL}={instance}"):
            render = word(found, "metadata", "annotations", RENDER)
            fields = (word(found, "metadata", key) for key in ("namespace", "name", "creationTimestamp"))
            one = Former(kind.kind, *fields)
            # Two objects at most in another namespace, that of the device plugin: a tenant cannot add more.
            is_own = one.namespace in ("", namespace) or one.name == f"{name}-device-plugin"
            if is_own and render != now and render.startswith(f"{where}@"):
                former.append(one)
        unread += [f"{kind.plural} cannot be read"] if objects.lacks(kind, place) else []
    if word(settings, "metadata", "annotations", _OF_HELM):  # which deletes what its release no longer has
        objects.left_out[known:] = [one._replace(matters=False) for one in objects.left_out[known:]]
    return Renders(former, "; ".join(unread))
