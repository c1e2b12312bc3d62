"""The installations of this webhook: Deployments, configurations, endpoints, settings, guard, and former renders."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from webhook.cluster.followed import KEY, MODE, USUAL
from webhook.cluster.objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    MUTATING,
    POD,
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
from webhook.cluster.reading import FINISHED, entries, number, part, word
from webhook.cluster.stack import readiness
from webhook.diagnostics import InputError
from webhook.guard import SUFFIX
from webhook.policy.settings.settings import Settings

# What former renders of the chart left behind: `kubectl apply` of rendered manifests deletes nothing.

RENDER: Final = "gpushare-webhook/render"
"""The annotation of the chart's objects: the installation, and a digest (templates/_names.tpl of the chart)."""

_INSTANCE: Final = "app.kubernetes.io/instance"
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
    """The `former` objects of an installation. `unknown` says why more may exist, and is empty if all are known."""

    former: list[Former]
    unknown: str


async def _renders(objects: Objects, where: str, settings: Object | None, *, has_guard: bool) -> Renders:
    """Read the objects of an installation with another render than its ConfigMap, which is the one in force.

    Charts before the annotation made guards without it, which are former where the settings have none.
    """
    now, instance = word(settings, "metadata", "annotations", RENDER), word(settings, "metadata", "labels", _INSTANCE)
    if not (instance and now.startswith(f"{where}@")):
        return Renders([], f"ConfigMap {where} cannot be read, or has no annotation {RENDER} of this installation")
    namespace, _, name = where.partition("/")
    former, unread, known = [], [], len(objects.left_out)
    for kind in (*_BUILT_IN, *[kind for one in _CUSTOM if (kind := await objects.served([one]))]):
        place = None if kind.group == _RBAC else namespace
        async for found in all_of(objects, kind, place, labelSelector=f"{_INSTANCE}={instance}"):
            render = word(found, "metadata", "annotations", RENDER)
            fields = (word(found, "metadata", key) for key in ("namespace", "name", "creationTimestamp"))
            one = Former(kind.kind, *fields)
            # Two objects at most in another namespace, that of the device plugin: a tenant cannot add more.
            is_own = one.namespace in ("", namespace) or one.name == f"{name}-device-plugin"
            is_guard = one.name == f"{name}-guard" and kind in (POLICY_BINDING, POLICY)
            is_former = render.startswith(f"{where}@") or (is_guard and not has_guard and not render)
            if is_own and render != now and is_former:
                former.append(one)
        unread += [f"{kind.plural} cannot be read"] if objects.lacks(kind, place) else []
    if word(settings, "metadata", "annotations", _OF_HELM):  # which deletes what its release no longer has
        objects.left_out[known:] = [one._replace(matters=False) for one in objects.left_out[known:]]
    return Renders(former, "; ".join(unread))


_NAME: Final = "gpushare-webhook"
_LABEL: Final = "app.kubernetes.io/name"
_DOMAIN: Final = ".gpushare-webhook.io"
"""The end of the names of the chart's webhooks (charts/gpushare-webhook/templates/_entry.tpl)."""

HOOKS: Final = {"MutatingWebhookConfiguration": MUTATING, "ValidatingWebhookConfiguration": VALIDATING}

POLICY_KIND: Final = POLICY.kind


class Hook(NamedTuple):
    """A webhook configuration of gpushare-webhook, and its webhooks."""

    kind: str
    name: str
    entries: Sequence[Object]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def services(self) -> list[str]:
        """The Services that its webhooks call."""
        return [service for one in self.entries if (service := service_of(one))]


def service_of(entry: Object) -> str:
    """The Service of a webhook as `namespace/name`; empty for a URL."""
    service = part(entry, "clientConfig", "service")
    return f"{word(service, 'namespace')}/{word(service, 'name')}" if service else ""


class Replica(NamedTuple):
    """A pod of our Deployment. `port` is that of its metrics.

    `settings` is the digest of its settings, and `ends` the end of the certificate that it serves; None if unknown.
    """

    name: str
    image: str
    is_ready: bool
    detail: str
    port: int
    node: str
    settings: str | None = None
    ends: datetime | None = None


class Installation(NamedTuple):
    """An installation of this webhook. `deployment` is None without one.

    `endpoints` counts ready addresses of its Service; None if that is unknown. `mode` is the cap that the annotation of
    its ServiceAccount sets; None without one. `exists` says of its objects for the cap, and for a guard that there may
    be, whether they exist, where that is known. `settings` are the installed ones; None if they cannot be read, or are
    refused by `problem`.
    """

    namespace: str
    name: str
    deployment: Object | None
    replicas: Sequence[Replica]
    endpoints: int | None
    mode: str | None
    exists: Mapping[str, bool]
    settings: Settings | None
    problem: str
    renders: Renders

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def wanted(self) -> int:
        """The number of replicas that the Deployment wants."""
        return number(self.deployment, "spec", "replicas", default=1)

    @property
    def ready(self) -> int:
        """The number of replicas that are ready."""
        return number(self.deployment, "status", "readyReplicas")


class Installed(NamedTuple):
    """The installations, and the configurations by which the API server calls them.

    `unconfirmed` are Deployments that have the label of this webhook, and that nothing shows to be administrators'.
    """

    installations: Sequence[Installation]
    hooks: Sequence[Hook]
    unconfirmed: Sequence[str]


async def read_installations(
    objects: Objects, installed_as: str | None, parse: Callable[[str, bytes], Settings]
) -> Installed:
    """Read all installations, or the one that is named. `parse` reads a settings file; it may raise InputError."""
    hooks = [one async for one in _hooks(objects, installed_as)]
    deployments = {
        f"{word(one, 'metadata', 'namespace')}/{word(one, 'metadata', 'name')}": one
        for one in await _deployments(objects, installed_as)
    }
    called = dict.fromkeys(service for hook in hooks for service in hook.services)
    # Any tenant may set the label, and only an administrator can let the API server call a Service.
    known = {*called, installed_as or USUAL}
    wanted = [where for where in dict.fromkeys((*deployments, *called)) if where in known]
    installations = []
    for where in [installed_as] if installed_as else wanted:
        one = await _installation(objects, where, deployments.get(where), parse)
        # The metrics of a pod count where the user or a webhook configuration names it, and not a label alone.
        if where in called or where == installed_as:
            one = one._replace(replicas=[await _measured(objects, one, replica) for replica in one.replicas])
        installations.append(one)
    unconfirmed = [where for where in deployments if where not in known]
    return Installed(installations, hooks, [] if called else unconfirmed)


async def _deployments(objects: Objects, installed_as: str | None) -> list[Object]:
    if installed_as is None:
        found = await objects.listed(DEPLOYMENT, labelSelector=f"{_LABEL}={_NAME}")
        if found is not None:
            return [one for one in found if part(one, "metadata", "labels").get(_LABEL) == _NAME]
    return await _named(objects, DEPLOYMENT, *(installed_as or USUAL).split("/", 1))


async def _named(objects: Objects, kind: Kind, namespace: str | None, name: str) -> list[Object]:
    one = await objects.one(kind, namespace, name)
    return [] if one is None else [one]


async def _hooks(objects: Objects, installed_as: str | None) -> AsyncIterator[Hook]:
    """Our configurations."""
    name = (installed_as or USUAL).partition("/")[2]
    for noun, kind in HOOKS.items():
        found = await objects.listed(kind)
        for one in await _named(objects, kind, None, name) if found is None else found:
            hook = Hook(noun, word(one, "metadata", "name"), entries(one, "webhooks"))
            is_wanted = installed_as in (None, *hook.services) or (not hook.services and hook.name == name)
            if is_wanted and any(word(entry, "name").endswith(_DOMAIN) for entry in hook.entries):
                yield hook


async def _installation(
    objects: Objects, where: str, deployment: Object | None, parse: Callable[[str, bytes], Settings]
) -> Installation:
    namespace, _, name = where.partition("/")
    held = await objects.one(CONFIG_MAP, namespace, name)
    settings, problem = None, ""
    if isinstance(text := part(held, "data").get(KEY), str):
        try:
            settings = parse(f"ConfigMap {where}", text.encode())
        except InputError as error:
            problem = str(error.diagnostics[0])
    cap, guard = f"{name}{SUFFIX}", f"{name}-guard"
    parts: list[tuple[Kind, str | None, str]] = [(SERVICE_ACCOUNT, namespace, cap)]
    has_guard = settings is None or settings.guard.enabled
    if has_guard:
        parts += [(POLICY, None, guard), (POLICY_BINDING, None, guard)]
    found = {kind: await objects.one(kind, place, own) for kind, place, own in parts}
    exists = {
        f"{kind.kind} {own}": found[kind] is not None
        for kind, place, own in parts
        if found[kind] is not None or not objects.hides(kind, place, own)
    }
    return Installation(
        namespace,
        name,
        deployment,
        [] if deployment is None else [one async for one in _replicas(objects, namespace, deployment)],
        await _endpoints(objects, namespace, name),
        part(found[SERVICE_ACCOUNT], "metadata", "annotations").get(MODE),
        exists,
        settings,
        problem,
        await _renders(objects, where, held, has_guard=has_guard),
    )


async def _replicas(objects: Objects, namespace: str, deployment: Object) -> AsyncIterator[Replica]:
    labels = part(deployment, "spec", "selector", "matchLabels")
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    async for one in all_of(objects, POD, namespace, labelSelector=selector):
        is_own = labels.items() <= part(one, "metadata", "labels").items()
        if is_own and not word(one, "metadata", "deletionTimestamp") and word(one, "status", "phase") not in FINISHED:
            first = next(iter(entries(one, "spec", "containers")), {})
            health = next((port for port in entries(first, "ports") if port.get("name") == "health"), {})
            port = number(health, "containerPort", default=8080)
            node = word(one, "spec", "nodeName")
            yield Replica(word(one, "metadata", "name"), word(first, "image"), *readiness(one), port, node)


async def _endpoints(objects: Objects, namespace: str, name: str) -> int | None:
    """The number of ready addresses of the Service; None where it is unknown."""
    label = "kubernetes.io/service-name"
    found = await objects.listed(ENDPOINT_SLICE, namespace, labelSelector=f"{label}={name}")
    if found is None:
        return None
    own = (one for one in found if part(one, "metadata", "labels").get(label) == name)
    return sum(part(each, "conditions").get("ready") is not False for one in own for each in entries(one, "endpoints"))


# What a replica reports about itself: its metrics, read through the API server.

_METRICS: Final = re.compile(
    r'^gpushare_webhook_(digest|certificate_expiry_seconds)\{(?:of="settings"|kind="leaf")\} ([0-9.e+]{1,30})$',
    re.MULTILINE,
)


async def _measured(objects: Objects, one: Installation, replica: Replica) -> Replica:
    """A replica with the digest of its settings as `/readyz?verbose` shows it (webhook.server.digests), and its end."""
    metrics = await objects.metrics(one.namespace, replica.name, replica.port) if replica.is_ready else None
    with suppress(ValueError, OverflowError, OSError):
        for name, value in _METRICS.findall(metrics or ""):
            if name == "digest":
                replica = replica._replace(settings=f"{int(float(value)):012x}")
            else:
                replica = replica._replace(ends=datetime.fromtimestamp(float(value), UTC))
    return replica
