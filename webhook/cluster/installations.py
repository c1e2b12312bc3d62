"""The installations of this webhook: Deployments, configurations, endpoints, settings, and the guard."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from webhook.cluster.followed import KEY, MODE
from webhook.cluster.objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    MUTATING,
    POD,
    POLICY,
    POLICY_BINDING,
    SERVICE_ACCOUNT,
    VALIDATING,
    Object,
    ObjectsWithMetrics,
    all_of,
)
from webhook.cluster.reading import FINISHED, entries, is_true, number, part, word
from webhook.cluster.stack import MOST_DETAIL, detail_of
from webhook.diagnostics import InputError
from webhook.guard import SUFFIX
from webhook.policy.messages import cut
from webhook.policy.settings.settings import Settings

_NAME: Final = "gpushare-webhook"
_USUAL: Final = f"{_NAME}/{_NAME}"
_LABEL: Final = "app.kubernetes.io/name"
_DOMAIN: Final = ".gpushare-webhook.io"
"""The end of the names of the chart's webhooks (charts/gpushare-webhook/templates/_entry.tpl)."""

HOOKS: Final = {"MutatingWebhookConfiguration": MUTATING, "ValidatingWebhookConfiguration": VALIDATING}

POLICY_KIND: Final = "ValidatingAdmissionPolicy"


class Hook(NamedTuple):
    """A webhook configuration of gpushare-webhook, and its webhooks."""

    kind: str
    name: str
    entries: Sequence[Object]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    def calls(self, installation: object) -> bool:
        """Whether the API server calls this installation, which is `namespace/name`."""
        return any(service_of(one) == str(installation) for one in self.entries)


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
    its ServiceAccount sets; None without one. `exists` says of its objects for cap and guard whether they exist, where
    that is known. `settings` are the installed ones; None if they cannot be read, or are refused by `problem`.
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
    objects: ObjectsWithMetrics, installed_as: str | None, parse: Callable[[str, bytes], Settings]
) -> Installed:
    """Read all installations, or the one that is named. `parse` reads a settings file; it may raise InputError."""
    hooks = [one async for one in _hooks(objects, installed_as)]
    deployments = {
        f"{word(one, 'metadata', 'namespace')}/{word(one, 'metadata', 'name')}": one
        for one in await _deployments(objects, installed_as)
    }
    called = {service: None for hook in hooks for one in hook.entries if (service := service_of(one))}
    # Any tenant may set the label, and only an administrator can let the API server call a Service.
    known = {*called, installed_as or _USUAL}
    unconfirmed = [where for where in deployments if where not in known]
    found = {where: one for where, one in deployments.items() if where in known}
    wanted = {**dict.fromkeys(found), **called} if installed_as is None else {installed_as: None}
    installations = []
    for where in wanted:
        one = await _installation(objects, where, found.get(where), parse)
        # The metrics of a pod count where the user or a webhook configuration names it, and not a label alone.
        if where in called or where == installed_as:
            one = one._replace(replicas=[await _measured(objects, one, replica) for replica in one.replicas])
        installations.append(one)
    return Installed(installations, hooks, [] if called else unconfirmed)


async def _deployments(objects: ObjectsWithMetrics, installed_as: str | None) -> list[Object]:
    if installed_as is None:
        found = await objects.listed(DEPLOYMENT, query={"labelSelector": f"{_LABEL}={_NAME}"})
        if found is not None:
            return [one for one in found if part(one, "metadata", "labels").get(_LABEL) == _NAME]
    named = await objects.one(DEPLOYMENT, *(installed_as or _USUAL).split("/", 1))
    return [] if named is None else [named]


async def _hooks(objects: ObjectsWithMetrics, installed_as: str | None) -> AsyncIterator[Hook]:
    """Our configurations."""
    name = (installed_as or _USUAL).partition("/")[2]
    for noun, kind in HOOKS.items():
        found = await objects.listed(kind)
        if found is None:
            one = await objects.one(kind, None, name)
            found = [] if one is None else [one]
        for one in found:
            hook = Hook(noun, word(one, "metadata", "name"), entries(one, "webhooks"))
            if any(word(entry, "name").endswith(_DOMAIN) for entry in hook.entries):
                is_without = not any(map(service_of, hook.entries)) and hook.name == name
                if installed_as is None or hook.calls(installed_as) or is_without:
                    yield hook


async def _installation(
    objects: ObjectsWithMetrics, where: str, deployment: Object | None, parse: Callable[[str, bytes], Settings]
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
    account = await objects.one(SERVICE_ACCOUNT, namespace, cap)
    exists = {}
    for noun, kind, place, own in (
        ("ServiceAccount", SERVICE_ACCOUNT, namespace, cap),
        (POLICY_KIND, POLICY, None, guard),
        (f"{POLICY_KIND}Binding", POLICY_BINDING, None, guard),
    ):
        is_there = await objects.one(kind, place, own) is not None
        if is_there or not objects.hides(kind, place, own):
            exists[f"{noun} {own}"] = is_there
    return Installation(
        namespace,
        name,
        deployment,
        [] if deployment is None else [one async for one in _replicas(objects, namespace, deployment)],
        await _endpoints(objects, namespace, name),
        part(account, "metadata", "annotations").get(MODE),
        exists,
        settings,
        problem,
    )


async def _replicas(objects: ObjectsWithMetrics, namespace: str, deployment: Object) -> AsyncIterator[Replica]:
    labels = part(deployment, "spec", "selector", "matchLabels")
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    async for one in all_of(objects, POD, namespace, labelSelector=selector):
        own = part(one, "metadata", "labels")
        is_own = all(own.get(key) == value for key, value in labels.items())
        if is_own and not word(one, "metadata", "deletionTimestamp") and word(one, "status", "phase") not in FINISHED:
            first, is_ready = next(iter(entries(one, "spec", "containers")), {}), is_true(one, "Ready")
            detail = "" if is_ready else cut(detail_of(part(one, "status")), MOST_DETAIL)
            health = next((port for port in entries(first, "ports") if port.get("name") == "health"), {})
            port = number(health, "containerPort", default=8080)
            node = word(one, "spec", "nodeName")
            yield Replica(word(one, "metadata", "name"), word(first, "image"), is_ready, detail, port, node)


async def _endpoints(objects: ObjectsWithMetrics, namespace: str, name: str) -> int | None:
    """The number of ready addresses of the Service; None where it is unknown."""
    label = "kubernetes.io/service-name"
    found = await objects.listed(ENDPOINT_SLICE, namespace, {"labelSelector": f"{label}={name}"})
    if found is None:
        return None
    own = [one for one in found if part(one, "metadata", "labels").get(label) == name]
    return sum(part(each, "conditions").get("ready") is not False for one in own for each in entries(one, "endpoints"))


# What a replica reports about itself: its metrics, read through the API server.

_VALUE: Final = r" ([0-9.e+]{1,30})$"
_DIGEST: Final = re.compile(r'^gpushare_webhook_digest\{of="settings"\}' + _VALUE, re.MULTILINE)
_ENDS: Final = re.compile(r'^gpushare_webhook_certificate_expiry_seconds\{kind="leaf"\}' + _VALUE, re.MULTILINE)


async def _measured(objects: ObjectsWithMetrics, one: Installation, replica: Replica) -> Replica:
    """A replica with the digest of its settings as `/readyz?verbose` shows it (webhook.server.digests), and its end."""
    metrics = await objects.metrics(one.namespace, replica.name, replica.port) if replica.is_ready else None
    with suppress(ValueError, OverflowError):
        if found := _DIGEST.search(metrics or ""):
            replica = replica._replace(settings=f"{int(float(found[1])):012x}")
    with suppress(ValueError, OverflowError, OSError):
        if found := _ENDS.search(metrics or ""):
            replica = replica._replace(ends=datetime.fromtimestamp(float(found[1]), UTC))
    return replica
