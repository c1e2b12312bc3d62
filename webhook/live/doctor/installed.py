"""Reads the installations of this webhook: Deployments, configurations, endpoints, settings and certificates."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from webhook.cluster.objects import (
    CONFIG_MAP,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    MUTATING,
    POD,
    SECRET,
    VALIDATING,
    Kind,
    Object,
    ObjectsWithTexts,
)
from webhook.cluster.settings_map import KEY, MODE
from webhook.diagnostics import InputError
from webhook.dryrun.files import parse
from webhook.live.doctor.metrics import measured
from webhook.live.doctor.seen import MOST_DETAIL, Entry, Expiry, Hook, Installation, Part, Replica
from webhook.live.doctor.stack import detail_of
from webhook.policy.messages import cut
from webhook.policy.settings.settings import Settings
from webhook.settings.load import load

_NAME: Final = "gpushare-webhook"
_LABEL: Final = "app.kubernetes.io/name"
_DOMAIN: Final = ".gpushare-webhook.io"
"""The end of the names of the chart's webhooks (charts/gpushare-webhook/templates/_entry.tpl)."""

CERTIFICATE: Final = Kind("certificate", "certificates", "cert-manager.io")
_HOOKS: Final = ((MUTATING, "MutatingWebhookConfiguration"), (VALIDATING, "ValidatingWebhookConfiguration"))


class Installed(NamedTuple):
    """What was read. `lacking` says why a part is not known."""

    installations: tuple[Installation, ...]
    hooks: tuple[Hook, ...]
    expiries: tuple[Expiry, ...]
    lacking: Mapping[Part, str]


async def read_installations(objects: ObjectsWithTexts, installed_as: str | None) -> Installed:
    """Read all installations, or the one that is named."""
    hooks, bundles = await _hooks(objects, installed_as)
    deployments = {_where(one): one async for one in _deployments(objects, installed_as)}
    called = {entry.service: None for hook in hooks for entry in hook.entries if entry.service}
    if called:  # any tenant may set the label, and only an administrator can let the API server call a Service
        deployments = {where: one for where, one in deployments.items() if where in called or where == installed_as}
    wanted = {**dict.fromkeys(deployments), **called} if installed_as is None else {installed_as: None}
    installations, problems = [], []
    for where in wanted:
        namespace, _, name = where.partition("/")
        one, problem = await _installation(objects, namespace, name, deployments.get(where))
        installations.append(one)
        problems += [problem] if problem else []
    expiries = [one async for one in _expiries(objects, deployments.values(), bundles, installations)]
    lacking = dict(_lacking(objects, installations, hooks, installed_as))
    if problems:
        lacking["settings"] = problems[0]
    if find_spec("cryptography") is None and not expiries:
        lacking["certificates"] = "the library cryptography is not installed: install gpushare-webhook[server]"
    elif deployments and not any(one.is_served for one in expiries):
        unread = "neither the metrics of a replica (get pods/proxy) nor the Secret (get secrets) can be read"
        lacking["served certificates"] = unread
    return Installed(tuple(installations), tuple(hooks), tuple(expiries), lacking)


def _where(found: Object) -> str:
    return f"{found['metadata'].get('namespace', '')}/{found['metadata']['name']}"


async def _deployments(objects: ObjectsWithTexts, installed_as: str | None) -> AsyncIterator[Object]:
    if installed_as is None:
        query = {"labelSelector": f"{_LABEL}={_NAME}"}
        for one in await objects.listed(DEPLOYMENT, None, query) or ():
            if (one["metadata"].get("labels") or {}).get(_LABEL) == _NAME:
                yield one
        if not objects.lacks(DEPLOYMENT):
            return
    namespace, _, name = (installed_as or f"{_NAME}/{_NAME}").partition("/")
    if (found := await objects.one(DEPLOYMENT, namespace, name)) is not None:
        yield found


async def _hooks(objects: ObjectsWithTexts, installed_as: str | None) -> tuple[list[Hook], dict[bytes, str]]:
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
            if installed_as is None or _is_of(hook, installed_as):
                hooks.append(hook)
                for each in listed:
                    if pem := _decoded((each.get("clientConfig") or {}).get("caBundle")):
                        bundles.setdefault(pem, f"caBundle of {noun} {hook.name}")
    return hooks, bundles


def _is_of(hook: Hook, installed_as: str) -> bool:
    services = {each.service for each in hook.entries}
    return installed_as in services or (services == {""} and hook.name == installed_as.partition("/")[2])


def _entry(found: Mapping[str, Any]) -> Entry:
    client = found.get("clientConfig") or {}
    service = client.get("service") or {}
    kinds = {name for rule in found.get("rules") or () for name in rule.get("resources") or ()}
    return Entry(
        found.get("name", ""),
        f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "",
        bool(client.get("caBundle")),
        found.get("namespaceSelector") or {},
        not kinds.isdisjoint(("pods", "*", "*/*")),
    )


def _decoded(text: object) -> bytes:
    try:
        return b64decode(text) if isinstance(text, str) else b""
    except (Base64Error, ValueError):
        return b""


async def _installation(
    objects: ObjectsWithTexts, namespace: str, name: str, deployment: Object | None
) -> tuple[Installation, str]:
    """Read an installation, and why its settings are not known; empty if they are."""
    held = await objects.one(CONFIG_MAP, namespace, name)
    settings, problem = _settings(f"{namespace}/{name}", held)
    annotations = {} if held is None else held["metadata"].get("annotations") or {}
    wanted, ready, replicas = None, 0, ()
    if deployment is not None:
        spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
        wanted, ready = int(spec.get("replicas", 1)), int(status.get("readyReplicas") or 0)
        replicas = tuple([one async for one in _replicas(objects, namespace, spec)])  # type: ignore[assignment]
    endpoints = await _endpoints(objects, namespace, name)
    one = Installation(namespace, name, wanted, ready, replicas, endpoints, annotations.get(MODE), settings)
    return one, problem


def _settings(where: str, held: Object | None) -> tuple[Settings | None, str]:
    text = None if held is None else (held.get("data") or {}).get(KEY)
    if not isinstance(text, str):
        return None, f"ConfigMap {where} cannot be read or has no key {KEY}"
    try:
        return parse(f"ConfigMap {where}", text.encode(), load).settings, ""
    except InputError as error:
        return None, str(error.diagnostics[0])


async def _replicas(objects: ObjectsWithTexts, namespace: str, spec: Mapping[str, Any]) -> AsyncIterator[Replica]:
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    async for page in objects.pages(POD, namespace, query):
        for one in page:
            metadata, status = one["metadata"], one.get("status") or {}
            own = metadata.get("labels") or {}
            if any(own.get(key) != value for key, value in labels.items()) or metadata.get("deletionTimestamp"):
                continue
            if status.get("phase") in ("Succeeded", "Failed"):
                continue
            containers = (one.get("spec") or {}).get("containers") or [{}]
            conditions = status.get("conditions") or ()
            is_ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
            detail = "" if is_ready else cut(detail_of(status), MOST_DETAIL)
            replica = Replica(metadata["name"], containers[0].get("image", ""), is_ready, detail)
            yield await measured(objects, namespace, replica, containers[0]) if is_ready else replica


async def _endpoints(objects: ObjectsWithTexts, namespace: str, name: str) -> int | None:
    """The number of ready addresses of the Service; None where it is unknown."""
    label = "kubernetes.io/service-name"
    found = await objects.listed(ENDPOINT_SLICE, namespace, {"labelSelector": f"{label}={name}"})
    if found is None:
        return None
    own = [one for one in found if (one["metadata"].get("labels") or {}).get(label) == name]
    each = [endpoint for one in own for endpoint in one.get("endpoints") or ()]
    return sum((one.get("conditions") or {}).get("ready") is not False for one in each)


# Certificates.


async def _expiries(
    objects: ObjectsWithTexts,
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
            pem = _decoded(((held or {}).get("data") or {}).get(_key(deployment)))
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
    status = found.get("status") or {}
    try:
        begins, ends = (datetime.fromisoformat(status[key]) for key in ("notBefore", "notAfter"))
        yield Expiry(where, ends, _notice(begins, ends), is_served=True)
    except (KeyError, TypeError, ValueError):
        return


def _secret(deployment: Object) -> str:
    """The Secret with the serving certificate; empty where the webhook signs its own."""
    for one in _pod_spec(deployment).get("volumes") or ():
        if one.get("name") == "tls":
            return str((one.get("secret") or {}).get("secretName", ""))
    return ""


def _key(deployment: Object) -> str:
    """The key of the certificate in the Secret, by the arguments of the chart."""
    for container in _pod_spec(deployment).get("containers") or ():
        for word in container.get("args") or ():
            if word.startswith("--tls-cert="):
                return str(word.rpartition("/")[2])
    return "tls.crt"


def _pod_spec(deployment: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    return found


def _lacking(
    objects: ObjectsWithTexts, installations: Iterable[Installation], hooks: Iterable[Hook], installed_as: str | None
) -> Iterator[tuple[Part, str]]:
    if not list(hooks) and any(objects.lacks(kind) for kind, _ in _HOOKS):
        yield "webhook configurations", "webhook configurations cannot be read"
    installations = list(installations)
    if installed_as is None and objects.lacks(DEPLOYMENT) and not any(one.wanted is not None for one in installations):
        yield "installation", "deployments cannot be read"
    if installed_as is not None and objects.hides(DEPLOYMENT, *installed_as.split("/", 1)):
        yield "installation", f"deployment {installed_as} cannot be read"
    if any(one.endpoints is None for one in installations):
        yield "endpoints", "endpointslices cannot be read"
