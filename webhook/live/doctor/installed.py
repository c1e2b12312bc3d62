"""Reads the installations of this webhook: Deployments, configurations, endpoints, settings and certificates."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
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
    SECRET,
    SERVICE_ACCOUNT,
    VALIDATING,
    Kind,
    Object,
    ObjectsWithMetrics,
    all_of,
    is_absent,
)
from webhook.cluster.reading import entries, is_true, number, part, word
from webhook.cluster.stack import MOST_DETAIL, detail_of
from webhook.diagnostics import InputError
from webhook.dryrun.files import parse
from webhook.guard.objects import SUFFIX, why_absent
from webhook.live.doctor.finding import Part
from webhook.live.pods import FINISHED
from webhook.policy.messages import cut
from webhook.policy.settings.settings import Settings
from webhook.settings.load import load
from webhook.settings.members import write

_NAME: Final = "gpushare-webhook"
_LABEL: Final = "app.kubernetes.io/name"
_DOMAIN: Final = ".gpushare-webhook.io"
"""The end of the names of the chart's webhooks (charts/gpushare-webhook/templates/_entry.tpl)."""

CERTIFICATE: Final = Kind("certificate", "certificates", "cert-manager.io")
HOOKS: Final = {"MutatingWebhookConfiguration": MUTATING, "ValidatingWebhookConfiguration": VALIDATING}


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
    """A pod of our Deployment.

    `settings` is the digest of its settings, and `ends` the end of the certificate that it serves; None if unknown.
    """

    name: str
    image: str
    is_ready: bool
    detail: str
    settings: str | None = None
    ends: datetime | None = None


class Expiry(NamedTuple):
    """A certificate: where it is, when it ends, and how long before that something is wrong if it was not renewed.

    `is_served`: a replica serves it; otherwise it is that of an authority.
    """

    where: str
    ends: datetime
    notice: timedelta
    is_served: bool = False


class Installation(NamedTuple):
    """An installation of this webhook. `deployment` is None without one.

    `endpoints` counts ready addresses of its Service; None if that is unknown. `mode` is the cap that the annotation of
    its ServiceAccount sets; None without one. `absent` names its objects for cap and guard that do not exist.
    `settings` are the installed ones; None if they cannot be read, for which `problem` is the reason.
    """

    namespace: str
    name: str
    deployment: Object | None
    replicas: Sequence[Replica]
    endpoints: int | None
    mode: str | None
    absent: Sequence[str]
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
    """What was read. `lacking` says why a part is not known.

    `unconfirmed` are Deployments that have the label of this webhook, and that nothing shows to be administrators'.
    """

    installations: Sequence[Installation]
    hooks: Sequence[Hook]
    expiries: Sequence[Expiry]
    lacking: Mapping[Part, str]
    unconfirmed: Sequence[str]


async def read_installations(objects: ObjectsWithMetrics, installed_as: str | None) -> Installed:
    """Read all installations, or the one that is named."""
    hooks = [one async for one in _hooks(objects, installed_as)]
    deployments = {
        f"{word(one, 'metadata', 'namespace')}/{word(one, 'metadata', 'name')}": one
        async for one in _deployments(objects, installed_as)
    }
    called = {service: None for hook in hooks for one in hook.entries if (service := service_of(one))}
    # Any tenant may set the label, and only an administrator can let the API server call a Service.
    known = {*called, installed_as or f"{_NAME}/{_NAME}"}
    unconfirmed = () if called else tuple(where for where in deployments if where not in known)
    deployments = {where: one for where, one in deployments.items() if where in known}
    wanted = {**dict.fromkeys(deployments), **called} if installed_as is None else {installed_as: None}
    installations = [
        await _installation(objects, where, deployments.get(where), is_known=where in called or where == installed_as)
        for where in wanted
    ]
    expiries = [*_of_authorities(hooks)]
    for each in installations:
        expiries += [one async for one in _served(objects, each)] if each.deployment else []
    lacking = dict(_lacking(objects, installations, hooks, installed_as))
    if find_spec("cryptography") is None and not expiries:
        lacking["certificates"] = "the library cryptography is not installed: install gpushare-webhook[server]"
    elif deployments and not any(one.is_served for one in expiries):
        unread = "neither the metrics of a replica (get pods/proxy) nor the Secret (get secrets) can be read"
        unknown = "no webhook configuration calls the installation, which only its label shows; name it: --installed-as"
        lacking["served certificates"] = unread if called or installed_as else unknown
    return Installed(installations, hooks, expiries, lacking, unconfirmed)


async def _deployments(objects: ObjectsWithMetrics, installed_as: str | None) -> AsyncIterator[Object]:
    if installed_as is None:
        async for one in all_of(objects, DEPLOYMENT, labelSelector=f"{_LABEL}={_NAME}"):
            if part(one, "metadata", "labels").get(_LABEL) == _NAME:
                yield one
        if not objects.lacks(DEPLOYMENT):
            return
    namespace, _, name = (installed_as or f"{_NAME}/{_NAME}").partition("/")
    if (found := await objects.one(DEPLOYMENT, namespace, name)) is not None:
        yield found


async def _hooks(objects: ObjectsWithMetrics, installed_as: str | None) -> AsyncIterator[Hook]:
    """Our configurations."""
    name = (installed_as or f"{_NAME}/{_NAME}").partition("/")[2]
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


def _decoded(text: object) -> bytes:
    try:
        return b64decode(text) if isinstance(text, str) else b""
    except (Base64Error, ValueError):
        return b""


async def _installation(
    objects: ObjectsWithMetrics, where: str, deployment: Object | None, *, is_known: bool
) -> Installation:
    """Read an installation.

    `is_known`: the user or a webhook configuration names it, and not only a label, which any tenant may set.
    """
    namespace, _, name = where.partition("/")
    settings, problem = _settings(where, await objects.one(CONFIG_MAP, namespace, name))
    cap, guard = f"{name}{SUFFIX}", f"{name}-guard"
    account = await objects.one(SERVICE_ACCOUNT, namespace, cap)
    parts: list[tuple[str, Kind, str | None, str]] = [("ServiceAccount", SERVICE_ACCOUNT, namespace, cap)]
    if settings is not None and settings.guard.enabled:
        parts += [("ValidatingAdmissionPolicy", POLICY, None, guard)]
        parts += [("ValidatingAdmissionPolicyBinding", POLICY_BINDING, None, guard)]
    return Installation(
        namespace,
        name,
        deployment,
        [one async for one in _replicas(objects, namespace, deployment, is_known=is_known)],
        await _endpoints(objects, namespace, name),
        part(account, "metadata", "annotations").get(MODE),
        [f"{noun} {own}" for noun, kind, place, own in parts if await is_absent(objects, kind, place, own)],
        settings,
        problem,
    )


def _settings(where: str, held: Object | None) -> tuple[Settings | None, str]:
    text = part(held, "data").get(KEY)
    if not isinstance(text, str):
        return None, f"ConfigMap {where} cannot be read or has no key {KEY}"
    try:
        return parse(f"ConfigMap {where}", text.encode(), load).settings, ""
    except InputError as error:
        return None, str(error.diagnostics[0])


async def _replicas(
    objects: ObjectsWithMetrics, namespace: str, deployment: Object | None, *, is_known: bool
) -> AsyncIterator[Replica]:
    if deployment is None:
        return
    labels = part(deployment, "spec", "selector", "matchLabels")
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    async for one in all_of(objects, POD, namespace, labelSelector=selector):
        metadata, own = one["metadata"], part(one, "metadata", "labels")
        is_own = all(own.get(key) == value for key, value in labels.items())
        if not is_own or metadata.get("deletionTimestamp") or word(one, "status", "phase") in FINISHED:
            continue
        first, is_ready = next(iter(entries(one, "spec", "containers")), {}), is_true(one, "Ready")
        detail = "" if is_ready else cut(detail_of(part(one, "status")), MOST_DETAIL)
        replica, text = Replica(metadata["name"], word(first, "image"), is_ready, detail), None
        if is_known and is_ready:
            health = next((port for port in entries(first, "ports") if port.get("name") == "health"), {})
            text = await objects.metrics(namespace, replica.name, number(health, "containerPort", default=_PORT))
        yield replica if text is None else replica._replace(settings=_digest(text), ends=_ends(text))


async def _endpoints(objects: ObjectsWithMetrics, namespace: str, name: str) -> int | None:
    """The number of ready addresses of the Service; None where it is unknown."""
    label = "kubernetes.io/service-name"
    found = await objects.listed(ENDPOINT_SLICE, namespace, {"labelSelector": f"{label}={name}"})
    if found is None:
        return None
    own = [one for one in found if part(one, "metadata", "labels").get(label) == name]
    return sum(part(each, "conditions").get("ready") is not False for one in own for each in entries(one, "endpoints"))


# What a replica reports about itself: its metrics, read through the API server.

_PORT: Final = 8080
_VALUE: Final = r" ([0-9.e+]{1,30})$"
_DIGEST: Final = re.compile(r'^gpushare_webhook_digest\{of="settings"\}' + _VALUE, re.MULTILINE)
_ENDS: Final = re.compile(r'^gpushare_webhook_certificate_expiry_seconds\{kind="leaf"\}' + _VALUE, re.MULTILINE)


def _digest(text: str) -> str | None:
    """The digest as `/readyz?verbose` shows it (webhook.server.digests)."""
    found = _DIGEST.search(text)
    try:
        return None if found is None else f"{int(float(found[1])):012x}"
    except (ValueError, OverflowError):
        return None


def _ends(text: str) -> datetime | None:
    found = _ENDS.search(text)
    try:
        return None if found is None else datetime.fromtimestamp(float(found[1]), UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Certificates.


def _of_authorities(hooks: Iterable[Hook]) -> Iterator[Expiry]:
    """The authorities by which the API server verifies the webhook, each once."""
    bundles: dict[bytes, Hook] = {}
    for hook in hooks:
        for one in hook.entries:
            bundles.setdefault(_decoded(part(one, "clientConfig").get("caBundle")), hook)
    for pem, hook in bundles.items():
        yield from _newest(f"caBundle of {hook}", pem)


async def _served(objects: ObjectsWithMetrics, one: Installation) -> AsyncIterator[Expiry]:
    """The certificate that an installation serves.

    A replica reports the end of its own. Otherwise the Certificate of cert-manager or the Secret shows it.
    """
    found = None
    if await objects.served((CERTIFICATE,)) is not None:
        found = await objects.one(CERTIFICATE, one.namespace, one.name)
    ends = [each.ends for each in one.replicas if each.ends is not None]
    of_pod = part(one.deployment, "spec", "template", "spec")
    volume = next((each for each in entries(of_pod, "volumes") if each.get("name") == "tls"), {})
    if found is not None:
        try:
            begin, end = (datetime.fromisoformat(found["status"][key]) for key in ("notBefore", "notAfter"))
        except (KeyError, TypeError, ValueError):
            return
        yield Expiry(f"Certificate {one}", end, _notice(begin, end), is_served=True)
    elif ends:
        yield Expiry(f"certificate that {one} serves", min(ends), _LEAST, is_served=True)
    elif secret := word(volume, "secret", "secretName"):
        args = [arg for each in entries(of_pod, "containers") for arg in each.get("args") or ()]
        key = next((arg for arg in args if arg.startswith("--tls-cert=")), "tls.crt").rpartition("/")[2]
        held = await objects.one(SECRET, one.namespace, secret)
        for newest in _newest(f"Secret {one.namespace}/{secret}", _decoded(part(held, "data").get(key))):
            yield newest._replace(is_served=True)


def _newest(where: str, pem: bytes) -> Iterator[Expiry]:
    """The certificate of a text that ends last; none without the library that reads certificates."""
    if find_spec("cryptography") is None:
        return
    from webhook.pki import bundle

    found = max(bundle.read(pem), key=lambda one: one.not_valid_after_utc, default=None)
    if found is not None:
        notice = _notice(found.not_valid_before_utc, found.not_valid_after_utc)
        yield Expiry(where, found.not_valid_after_utc, max(notice, _LEAST))


_LEAST: Final = timedelta(days=1)
"""The least notice for a certificate that a user may have to renew. One that the webhook signs lives for a week."""


def _notice(begins: datetime, ends: datetime) -> timedelta:
    """A sixth of the lifetime, since certificates are renewed when a third is left; a month at most."""
    return min((ends - begins) / 6, timedelta(days=30))


def _lacking(
    objects: ObjectsWithMetrics, installations: Sequence[Installation], hooks: Sequence[Hook], installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    if not hooks and any(map(objects.lacks, HOOKS.values())):
        yield "webhook configurations", "webhook configurations cannot be read"
    if installed_as is None and objects.lacks(DEPLOYMENT) and not any(one.deployment for one in installations):
        yield "installation", "deployments cannot be read"
    if installed_as is not None and objects.hides(DEPLOYMENT, *installed_as.split("/", 1)):
        yield "installation", f"deployment {installed_as} cannot be read"
    if any(one.endpoints is None for one in installations):
        yield "endpoints", "endpointslices cannot be read"
    if problems := [one.problem for one in installations if one.problem]:
        yield "settings", problems[0]
        return
    for one in installations:
        if one.settings is not None and not one.settings.guard.enabled:
            reason = why_absent(write(one.settings), asked=False)
            yield "guard", f"there is none, because {reason or 'its settings have no guard.enabled'}"
            return
