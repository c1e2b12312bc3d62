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
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.manifests import pod
from tests.cluster.harness.release import CORE, HOST, NAME, NAMESPACE
from tests.cluster.harness.waiting import met, wait_for
from tests.cluster.harness.webhook_manifests import secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object

_CONFIG_MAP = f"{CORE}/configmaps/{NAME}"
_ACCOUNT = f"{CORE}/serviceaccounts/{NAME}-mode"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{NAME}"
_SKIP = "gpushare-skip"
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
NEXT = "gpushare-webhook:next"
GUARD = [f"validatingadmissionpolicy{end}/{NAME}-guard" for end in ("binding", "")]


def _edited(site: Site, path: str, edit: Callable[[Object], object]) -> AbstractContextManager[None]:
    """Edit each entry of a webhook configuration for a while."""
    entries = site.cluster.api.get(f"{path}/{NAME}")["webhooks"]
    for entry in entries:
        edit(entry)
    return site.cluster.api.patched(f"{path}/{NAME}", {"webhooks": entries})


def _bundle_empty(site: Site) -> AbstractContextManager[None]:
    """The mutating configuration has lost its authority, as after an apply of a manifest without it."""
    return _edited(site, MUTATING, lambda entry: entry["clientConfig"].pop("caBundle"))


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
    leaf = site.authority.sign([HOST], now, timedelta(hours=1))
    served = site.release.servers()[0].leaf()
    with site.cluster.api.patched(SERVING, {"data": secret(leaf.certificate, leaf.key)["data"]}):
        site.release.wait_served(leaf.certificate)
        yield
    site.release.wait_served(served.public_bytes(Encoding.PEM))


@contextmanager
def _no_endpoints(site: Site) -> Iterator[None]:
    """The Service selects no pod, as after a change of labels."""
    slices = f"{_SLICES}?labelSelector=kubernetes.io/service-name={NAME}"

    def addresses() -> int:
        return sum(len(one.get("endpoints") or ()) for one in site.cluster.api.items(slices))

    before = addresses()
    with site.cluster.api.patched(f"{CORE}/services/{NAME}", {"spec": {"selector": {"track": "canary"}}}):
        wait_for("no endpoints", lambda: addresses() == 0)
        yield
    wait_for("the endpoints", lambda: addresses() == before)


@contextmanager
def _third_replica(site: Site) -> Iterator[None]:
    """A quota of the namespace keeps a third replica from being created."""
    quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "2"}}}
    api = site.cluster.api
    with api.created(f"{CORE}/resourcequotas", quota):
        used = lambda found: found.get("status", {}).get("used", {}).get("pods") == "2"  # noqa: E731
        api.wait_for(f"{CORE}/resourcequotas/pods", "to be counted", used)
        with api.patched(_DEPLOYMENT, {"spec": {"replicas": 3}}):
            api.wait_for(_DEPLOYMENT, "to lack a replica", lambda found: met(found, "ReplicaFailure"))
            yield


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
        wait_for("the new replica", lambda: _ready_of(site, NEXT) == 1)
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


def _capped(site: Site) -> AbstractContextManager[None]:
    """The mode is capped, as in an emergency."""
    return site.cluster.api.patched(_ACCOUNT, {"metadata": {"annotations": {"gpushare-webhook/mode": "warn"}}})


def _without_effect(site: Site) -> AbstractContextManager[None]:
    """The settings name a namespace that does not exist."""
    settings = yaml.safe_load(site.cluster.api.get(_CONFIG_MAP)["data"]["settings.yaml"])
    settings["namespaces"].append({"names": ["reserach"], "mode": "audit"})
    return site.cluster.api.patched(_CONFIG_MAP, {"data": {"settings.yaml": yaml.safe_dump(settings)}})


@contextmanager
def _left_over(site: Site) -> Iterator[None]:
    """Manifests with a guard are applied, and then those without it: an apply deletes nothing."""
    given = {"name": SERVING.rpartition("/")[2], "caBundle": site.authority.bundle().decode()}

    def digests() -> set[float]:
        return {server.metric("gpushare_webhook_digest", of="settings") for server in site.release.servers()}

    def apply(*, guard: bool) -> None:
        values = {"guard": {"enabled": guard}, "tls": {"existingSecret": given}}
        flags = ("--server-side", "--force-conflicts", "--filename=-")
        site.cluster.kubectl("apply", *flags, manifest=site.release.manifests(values))

    before = digests()
    try:
        apply(guard=True)
        wait_for("the settings with a guard", lambda: digests().isdisjoint(before))
        apply(guard=False)
        wait_for("the former settings", lambda: digests() == before)
        yield
    finally:
        site.cluster.kubectl("delete", "--ignore-not-found", *GUARD)


TROUBLES = (
    Trouble("configuration-missing", "without-daemon", lambda site: site.cluster.api.deleted(f"{VALIDATING}/{NAME}")),
    Trouble("ca-bundle-empty", "by-hand", _bundle_empty),
    Trouble("certificate", "configured", _ends_soon),
    Trouble("no-endpoints", "without-plugin", _no_endpoints),
    Trouble("replicas-not-ready", "tainted", _third_replica),
    Trouble("version-skew", "two-plugins", _half_rolled_out, frozenset({"replicas-not-ready"})),
    Trouble("mode-capped", "unlabelled", _capped),
    Trouble("setting-without-effect", "by-hand", _without_effect),
    Trouble("selector-skips", "unready", _skipping),
    Trouble("left-over", "configured", _left_over),
)
