"""Faults of our webhook's installation."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import yaml
from cryptography.hazmat.primitives.serialization import Encoding

from tests.cluster.faults.cluster_side import space_of
from tests.cluster.faults.site import SERVING, Site, Trouble
from tests.cluster.harness import webhook_image
from tests.cluster.harness.conditions import met
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.release import CORE, HOST, NAME, NAMESPACE
from tests.cluster.harness.waiting import wait_for
from tests.cluster.harness.webhook_manifests import secret
from tests.cluster.policies.release import set_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cryptography import x509

    from tests.cluster.harness.api import Object

_CONFIG_MAP = f"{CORE}/configmaps/{NAME}"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
_SKIP = "gpushare-skip"
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
NEXT = "gpushare-webhook:next"


@contextmanager
def _configuration_missing(site: Site) -> Iterator[None]:
    """Someone has deleted the validating configuration."""
    found = _portable(site.cluster.api.get(f"{VALIDATING}/{NAME}"))
    site.cluster.api.delete(f"{VALIDATING}/{NAME}")
    try:
        yield
    finally:
        site.cluster.api.create(VALIDATING, found)


def _portable(found: Object) -> Object:
    """An object without what only the API server sets."""
    own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    return {**found, "metadata": {key: value for key, value in found["metadata"].items() if key not in own}}


@contextmanager
def _edited(site: Site, path: str, edit: Callable[[Object], None]) -> Iterator[None]:
    """Edit each entry of a webhook configuration for a while."""
    before = site.cluster.api.get(f"{path}/{NAME}")["webhooks"]
    after = site.cluster.api.get(f"{path}/{NAME}")["webhooks"]
    for entry in after:
        edit(entry)
    site.cluster.api.patch(f"{path}/{NAME}", {"webhooks": after})
    try:
        yield
    finally:
        site.cluster.api.patch(f"{path}/{NAME}", {"webhooks": before})


@contextmanager
def _bundle_empty(site: Site) -> Iterator[None]:
    """The mutating configuration has lost its authority, as after an apply of a manifest without it."""

    def empty(entry: Object) -> None:
        del entry["clientConfig"]["caBundle"]

    with _edited(site, MUTATING, empty):
        yield


@contextmanager
def _skipping(site: Site) -> Iterator[None]:
    """The configurations leave out a label, and a namespace with GPU pods has it."""

    def skip(entry: Object) -> None:
        selector = entry.setdefault("namespaceSelector", {})
        selector.setdefault("matchExpressions", []).append({"key": _SKIP, "operator": "DoesNotExist"})

    with (
        _edited(site, MUTATING, skip),
        _edited(site, VALIDATING, skip),
        space_of(site, "skipped", {_SKIP: "yes"}) as space,
    ):
        space.start(pod("main"))
        yield


@contextmanager
def _ends_soon(site: Site) -> Iterator[None]:
    """The certificate that the replicas serve ends within the hour, and nothing renews it."""
    now = datetime.now(UTC)
    before = site.cluster.api.get(SERVING)["data"]
    leaf = site.authority.sign([HOST], now, timedelta(hours=1))
    (old, *_) = site.release.servers()
    served = old.leaf()
    site.cluster.api.patch(SERVING, {"data": secret(leaf.certificate, leaf.key)["data"]})
    site.release.wait_served(leaf.certificate)
    try:
        yield
    finally:
        site.cluster.api.patch(SERVING, {"data": before})
        site.release.wait_served(_pem(served))


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


@contextmanager
def _no_endpoints(site: Site) -> Iterator[None]:
    """The Service selects no pod, as after a change of labels."""
    service, key = f"{CORE}/services/{NAME}", "track"
    slices = f"{_SLICES}?labelSelector=kubernetes.io/service-name={NAME}"

    def addresses() -> int:
        return sum(len(one.get("endpoints") or ()) for one in site.cluster.api.items(slices))

    before = addresses()
    site.cluster.api.patch(service, {"spec": {"selector": {key: "canary"}}})
    try:
        wait_for("no endpoints", lambda: addresses() == 0)
        yield
    finally:
        site.cluster.api.patch(service, {"spec": {"selector": {key: None}}})
        wait_for("the endpoints", lambda: addresses() == before)


@contextmanager
def _third_replica(site: Site) -> Iterator[None]:
    """A quota of the namespace keeps a third replica from being created."""
    quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "2"}}}
    site.cluster.api.create(f"{CORE}/resourcequotas", quota)
    try:
        used = lambda found: found.get("status", {}).get("used", {}).get("pods") == "2"  # noqa: E731
        site.cluster.api.wait_for(f"{CORE}/resourcequotas/pods", "to be counted", used)
        site.cluster.api.patch(_DEPLOYMENT, {"spec": {"replicas": 3}})
        site.cluster.api.wait_for(_DEPLOYMENT, "to lack a replica", _lacks_replica)
        yield
    finally:
        site.cluster.api.patch(_DEPLOYMENT, {"spec": {"replicas": 2}})
        site.cluster.api.delete(f"{CORE}/resourcequotas/pods")


def _lacks_replica(found: Object) -> bool:
    conditions = found["status"].get("conditions", ())
    return any(one["type"] == "ReplicaFailure" and one["status"] == "True" for one in conditions)


@contextmanager
def _half_rolled_out(site: Site) -> Iterator[None]:
    """A rollout to another version stands still after its first replica."""
    api = site.cluster.api
    archive = site.cluster.inside.folder / "webhook-next.tar"
    if not archive.exists():
        webhook_image.write_archive(archive, NEXT, version="99.0.0")
        site.cluster.node.containers.load(archive)
    before = api.get(_DEPLOYMENT)["spec"]
    (main,) = before["template"]["spec"]["containers"]
    slow = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    after = {"containers": [{"name": main["name"], "image": NEXT}]}
    change = {"minReadySeconds": 500, "strategy": slow, "template": {"spec": after}}
    api.patch(_DEPLOYMENT, {"spec": change}, form="strategic")
    try:
        wait_for("the new replica", lambda: _ready_of(site, NEXT) == 1, seconds=60)
        yield
    finally:
        back = {"containers": [{"name": main["name"], "image": main["image"]}]}
        spec = {"minReadySeconds": 0, "strategy": before["strategy"], "template": {"spec": back}}
        api.patch(_DEPLOYMENT, {"spec": spec}, form="strategic")
        wait_for("the old replicas alone", lambda: len(site.release.pods()) == 2 == _ready_of(site, main["image"]))


def _ready_of(site: Site, image: str) -> int:
    """How many replicas with an image are ready."""
    pods = [one for one in site.release.pods() if one["spec"]["containers"][0]["image"] == image]
    return sum(met(one, "Ready") for one in pods)


@contextmanager
def _capped(site: Site) -> Iterator[None]:
    """The mode is capped, as in an emergency."""
    set_mode(site.cluster, _CONFIG_MAP, "warn")
    try:
        yield
    finally:
        set_mode(site.cluster, _CONFIG_MAP, None)


@contextmanager
def _without_effect(site: Site) -> Iterator[None]:
    """The settings name a namespace that does not exist."""
    text = site.cluster.api.get(_CONFIG_MAP)["data"]["settings.yaml"]
    settings = yaml.safe_load(text)
    settings["namespaces"].append({"names": ["reserach"], "mode": "audit"})
    site.cluster.api.patch(_CONFIG_MAP, {"data": {"settings.yaml": yaml.safe_dump(settings)}})
    try:
        yield
    finally:
        site.cluster.api.patch(_CONFIG_MAP, {"data": {"settings.yaml": text}})


TROUBLES = (
    Trouble("configuration-missing", "without-daemon", _configuration_missing),
    Trouble("ca-bundle-empty", "by-hand", _bundle_empty),
    Trouble("certificate", "configured", _ends_soon),
    Trouble("no-endpoints", "without-plugin", _no_endpoints),
    Trouble("replicas-not-ready", "tainted", _third_replica),
    Trouble("version-skew", "two-plugins", _half_rolled_out, frozenset({"replicas-not-ready"})),
    Trouble("mode-capped", "unlabelled", _capped),
    Trouble("setting-without-effect", "by-hand", _without_effect),
    Trouble("selector-skips", "unready", _skipping),
)
