"""Reads the installations of this webhook: Deployments, configurations, endpoints, settings and certificates."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

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
)
from webhook.cluster.reading import entries, is_true, number, part, word
from webhook.cluster.stack import MOST_DETAIL, detail_of
from webhook.diagnostics import InputError
from webhook.dryrun.files import parse
from webhook.guard.objects import SUFFIX, why_absent
from webhook.live.doctor.seen import Entry, Expiry, Hook, Installation, Part, Replica
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
_HOOKS: Final = ((MUTATING, "MutatingWebhookConfiguration"), (VALIDATING, "ValidatingWebhookConfiguration"))


class Installed(NamedTuple):
    """What was read. `lacking` says why a part is not known.

    `unconfirmed` are Deployments that have the label of this webhook, and that nothing shows to be administrators'.
    """

    installations: tuple[Installation, ...]
    hooks: tuple[Hook, ...]
    expiries: tuple[Expiry, ...]
    lacking: Mapping[Part, str]
    unconfirmed: tuple[str, ...] = ()


async def read_installations(objects: ObjectsWithMetrics, installed_as: str | None) -> Installed:
    """Read all installations, or the one that is named."""
    hooks, bundles = await _hooks(objects, installed_as)
    deployments = {
        f"{word(one, 'metadata', 'namespace')}/{word(one, 'metadata', 'name')}": one
        async for one in _deployments(objects, installed_as)
    }
    called = {entry.service: None for hook in hooks for entry in hook.entries if entry.service}
    # Any tenant may set the label, and only an administrator can let the API server call a Service.
    known = {*called, installed_as or f"{_NAME}/{_NAME}"}
    unconfirmed = () if called else tuple(where for where in deployments if where not in known)
    deployments = {where: one for where, one in deployments.items() if where in known}
    wanted = {**dict.fromkeys(deployments), **called} if installed_as is None else {installed_as: None}
    installations, problems = [], []
    for where in wanted:
        namespace, _, name = where.partition("/")
        is_known = where in called or where == installed_as
        one, problem = await _installation(objects, namespace, name, deployments.get(where), is_known=is_known)
        installations.append(one)
        problems += [problem] if problem else []
    expiries = [one async for one in _expiries(objects, deployments.values(), bundles, installations)]
    lacking = dict(_lacking(objects, installations, hooks, installed_as))
    if problems:
        lacking["settings"] = problems[0]
    elif reasons := [reason for one in installations if (reason := _why_no_guard(one.settings))]:
        lacking["guard"] = reasons[0]
    if find_spec("cryptography") is None and not expiries:
        lacking["certificates"] = "the library cryptography is not installed: install gpushare-webhook[server]"
    elif deployments and not any(one.is_served for one in expiries):
        unread = "neither the metrics of a replica (get pods/proxy) nor the Secret (get secrets) can be read"
        unknown = "no webhook configuration calls the installation, which only its label shows; name it: --installed-as"
        lacking["served certificates"] = unread if called or installed_as else unknown
    return Installed(tuple(installations), tuple(hooks), tuple(expiries), lacking, unconfirmed)


def _why_no_guard(settings: Settings | None) -> str:
    """Why an installation has no guard; empty if it has one."""
    if settings is None or settings.guard.enabled:
        return ""
    reason = why_absent(write(settings), asked=False)
    return f"there is none, because {reason or 'its settings have no guard.enabled'}"


async def _deployments(objects: ObjectsWithMetrics, installed_as: str | None) -> AsyncIterator[Object]:
    if installed_as is None:
        query = {"labelSelector": f"{_LABEL}={_NAME}"}
        for one in await objects.listed(DEPLOYMENT, None, query) or ():
            if part(one, "metadata", "labels").get(_LABEL) == _NAME:
                yield one
        if not objects.lacks(DEPLOYMENT):
            return
    namespace, _, name = (installed_as or f"{_NAME}/{_NAME}").partition("/")
    if (found := await objects.one(DEPLOYMENT, namespace, name)) is not None:
        yield found


async def _hooks(objects: ObjectsWithMetrics, installed_as: str | None) -> tuple[list[Hook], dict[bytes, str]]:
    """Our configurations, and where each of their bundles is."""
    hooks: list[Hook] = []
    bundles: dict[bytes, str] = {}
    for kind, noun in _HOOKS:
        found = await objects.listed(kind)
        if found is None:
            name = (installed_as or f"{_NAME}/{_NAME}").partition("/")[2]
            one = await objects.one(kind, None, name)
            found = [] if one is None else [one]
        for one in found:
            listed = one.get("webhooks") or ()
            if not any(each.get("name", "").endswith(_DOMAIN) for each in listed):
                continue
            hook = Hook(noun, one["metadata"]["name"], tuple(map(_entry, listed)))  # type: ignore[arg-type]
            services = {each.service for each in hook.entries}
            is_without = services == {""} and hook.name == (installed_as or "").partition("/")[2]
            if installed_as is None or installed_as in services or is_without:
                hooks.append(hook)
                for each in listed:
                    if pem := _decoded(part(each, "clientConfig").get("caBundle")):
                        bundles.setdefault(pem, f"caBundle of {noun} {hook.name}")
    return hooks, bundles


def _entry(found: Mapping[str, Any]) -> Entry:
    service = part(found, "clientConfig", "service")
    kinds = {name for rule in entries(found, "rules") for name in rule.get("resources") or ()}
    return Entry(
        word(found, "name"),
        f"{word(service, 'namespace')}/{word(service, 'name')}" if service else "",
        bool(part(found, "clientConfig").get("caBundle")),
        part(found, "namespaceSelector"),
        not kinds.isdisjoint(("pods", "*", "*/*")),
    )


def _decoded(text: object) -> bytes:
    try:
        return b64decode(text) if isinstance(text, str) else b""
    except (Base64Error, ValueError):
        return b""


async def _installation(
    objects: ObjectsWithMetrics, namespace: str, name: str, deployment: Object | None, *, is_known: bool
) -> tuple[Installation, str]:
    """Read an installation, and why its settings are not known; empty if they are.

    `is_known`: the user or a webhook configuration names it, and not only a label, which any tenant may set.
    """
    held = await objects.one(CONFIG_MAP, namespace, name)
    settings, problem = _settings(f"{namespace}/{name}", held)
    cap = f"{name}{SUFFIX}"
    account = await objects.one(SERVICE_ACCOUNT, namespace, cap)
    annotations = part(account, "metadata", "annotations")
    parts: list[tuple[str, Kind, str | None, str]] = [("ServiceAccount", SERVICE_ACCOUNT, namespace, cap)]
    if settings is not None and settings.guard.enabled:
        guard = f"{name}-guard"
        parts += [("ValidatingAdmissionPolicy", POLICY, None, guard)]
        parts += [("ValidatingAdmissionPolicyBinding", POLICY_BINDING, None, guard)]
    absent = [
        f"{noun} {one}"
        for noun, kind, at, one in parts
        if await objects.one(kind, at, one) is None and not objects.hides(kind, at, one)
    ]
    wanted, ready, replicas = None, 0, ()
    if deployment is not None:
        spec = part(deployment, "spec")
        wanted, ready = number(spec, "replicas", default=1), number(deployment, "status", "readyReplicas")
        replicas = tuple([one async for one in _replicas(objects, namespace, spec, is_known=is_known)])  # type: ignore[assignment]
    endpoints = await _endpoints(objects, namespace, name)
    one = Installation(
        namespace, name, wanted, ready, replicas, endpoints, annotations.get(MODE), tuple(absent), settings
    )
    return one, problem


def _settings(where: str, held: Object | None) -> tuple[Settings | None, str]:
    text = part(held, "data").get(KEY)
    if not isinstance(text, str):
        return None, f"ConfigMap {where} cannot be read or has no key {KEY}"
    try:
        return parse(f"ConfigMap {where}", text.encode(), load).settings, ""
    except InputError as error:
        return None, str(error.diagnostics[0])


async def _replicas(
    objects: ObjectsWithMetrics, namespace: str, spec: Mapping[str, Any], *, is_known: bool
) -> AsyncIterator[Replica]:
    labels = part(spec, "selector", "matchLabels")
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    async for page in objects.pages(POD, namespace, query):
        for one in page:
            metadata, own = one["metadata"], part(one, "metadata", "labels")
            if any(own.get(key) != value for key, value in labels.items()) or metadata.get("deletionTimestamp"):
                continue
            if word(one, "status", "phase") in FINISHED:
                continue
            first, is_ready = next(iter(entries(one, "spec", "containers")), {}), is_true(one, "Ready")
            detail = "" if is_ready else cut(detail_of(part(one, "status")), MOST_DETAIL)
            replica = Replica(metadata["name"], word(first, "image"), is_ready, detail)
            yield await _measured(objects, namespace, replica, first) if is_known and is_ready else replica


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


async def _measured(
    objects: ObjectsWithMetrics, namespace: str, replica: Replica, container: Mapping[str, Any]
) -> Replica:
    """Return a replica with the digest of its settings and the end of its certificate, where it reports them."""
    health = next((one for one in entries(container, "ports") if one.get("name") == "health"), {})
    text = await objects.metrics(namespace, replica.name, number(health, "containerPort", default=_PORT))
    return replica if text is None else replica._replace(settings=_digest(text), ends=_ends(text))


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


async def _expiries(
    objects: ObjectsWithMetrics,
    deployments: Iterable[Object],
    bundles: Mapping[bytes, str],
    installations: Iterable[Installation],
) -> AsyncIterator[Expiry]:
    """Yield the authorities, and for each Deployment the certificate that it serves.

    A replica reports the end of its own. Otherwise the Certificate of cert-manager or the Secret shows it.
    """
    for pem, where in bundles.items():
        for one in _newest(where, pem):
            yield one
    served = {str(one): one.replicas for one in installations}
    has_manager = await objects.served((CERTIFICATE,)) is not None
    for deployment in deployments:
        namespace, name = deployment["metadata"].get("namespace", ""), deployment["metadata"]["name"]
        found = await objects.one(CERTIFICATE, namespace, name) if has_manager else None
        ends = [each.ends for each in served.get(f"{namespace}/{name}", ()) if each.ends is not None]
        if found is not None:
            for one in _of_manager(f"Certificate {namespace}/{name}", found):
                yield one
        elif ends:
            yield Expiry(f"certificate that {namespace}/{name} serves", min(ends), _LEAST, is_served=True)
        elif secret := _secret(deployment):
            held = await objects.one(SECRET, namespace, secret)
            pem = _decoded(part(held, "data").get(_key(deployment)))
            for one in _newest(f"Secret {namespace}/{secret}", pem):
                yield one._replace(is_served=True)


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


def _of_manager(where: str, found: Object) -> Iterator[Expiry]:
    try:
        begins, ends = (datetime.fromisoformat(found["status"][key]) for key in ("notBefore", "notAfter"))
        yield Expiry(where, ends, _notice(begins, ends), is_served=True)
    except (KeyError, TypeError, ValueError):
        return


def _secret(deployment: Object) -> str:
    """The Secret with the serving certificate; empty where the webhook signs its own."""
    volumes = entries(deployment, "spec", "template", "spec", "volumes")
    return next((word(one, "secret", "secretName") for one in volumes if one.get("name") == "tls"), "")


def _key(deployment: Object) -> str:
    """The key of the certificate in the Secret, by the arguments of the chart."""
    containers = entries(deployment, "spec", "template", "spec", "containers")
    options = (each for one in containers for each in one.get("args") or () if each.startswith("--tls-cert="))
    return str(next(options, "tls.crt").rpartition("/")[2])


def _lacking(
    objects: ObjectsWithMetrics, installations: Sequence[Installation], hooks: Sequence[Hook], installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    if not hooks and any(objects.lacks(kind) for kind, _ in _HOOKS):
        yield "webhook configurations", "webhook configurations cannot be read"
    if installed_as is None and objects.lacks(DEPLOYMENT) and not any(one.wanted is not None for one in installations):
        yield "installation", "deployments cannot be read"
    if installed_as is not None and objects.hides(DEPLOYMENT, *installed_as.split("/", 1)):
        yield "installation", f"deployment {installed_as} cannot be read"
    if any(one.endpoints is None for one in installations):
        yield "endpoints", "endpointslices cannot be read"
