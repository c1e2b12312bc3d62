"""The webhook installed by its chart, in each certificate mode, with what the mode needs."""

from __future__ import annotations

import base64
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from cryptography import x509

from tests.cluster.harness import audit, webhook_image
from tests.cluster.harness import webhook_manifests as product
from tests.cluster.harness.certmanager import cert_manager
from tests.cluster.harness.helm import Helm
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.servers import ServerPod
from tests.cluster.harness.waiting import wait_for
from webhook.pki import Authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

CHART = Path(__file__).parents[3] / "charts/gpushare-webhook"
NAMESPACE = "gpu-admission"
RELEASE = "gps"
NAME = f"{RELEASE}-gpushare-webhook"
HOST = f"{NAME}.{NAMESPACE}.svc"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
UPGRADE = ("upgrade", RELEASE, str(CHART), "--install", "--disable-openapi-validation")
"""Helm's command that installs the chart or upgrades it.

The API server checks the fields of each object. Fetching its definitions as well doubles the processor time of Helm.
"""
SELECTOR = f"app.kubernetes.io/name=gpushare-webhook,app.kubernetes.io/instance={RELEASE}"

# Differences to the chart's defaults: the image that the node has, and a shorter shutdown. containerd completes a name
# without a registry by docker.io/library (distribution/reference, normalize.go).
_REPOSITORY, _, _TAG = webhook_image.IMAGE.partition(":")
_COMMON = {
    # Its tests install it themselves. The others are about the hooks, whose failure policy is `Fail` without it.
    "guard": product.NO_GUARD,
    "image": {"registry": "docker.io", "repository": f"library/{_REPOSITORY}", "tag": _TAG},
    "config": {"server": {"shutdownDelay": "2s"}},
}


@contextmanager
def _self_managed(_: Cluster) -> Iterator[Object]:
    """The default mode of the chart."""
    yield {}


@contextmanager
def _existing_secret(cluster: Cluster) -> Iterator[Object]:
    """A certificate that another program signed."""
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    authority = Authority.create("tests", now, lifetime)
    leaf = authority.sign([HOST], now, lifetime)
    data = product.secret(leaf.certificate, leaf.key)["data"]
    stored = {"metadata": {"name": "serving"}, "type": "kubernetes.io/tls", "data": data}
    with cluster.api.created(f"{CORE}/secrets", stored):
        given = {"name": "serving", "caBundle": authority.bundle().decode()}
        yield {"tls": {"mode": "existing-secret", "existingSecret": given}}


@contextmanager
def _cert_manager(cluster: Cluster) -> Iterator[Object]:
    """The real cert-manager; without cluster facts, so that the webhook sends no request to the API server."""
    with cert_manager(cluster):
        yield {"tls": {"mode": "cert-manager"}, "config": {"facts": {"runtimeClasses": False}}}


MODES: dict[str, Callable[[Cluster], AbstractContextManager[Object]]] = {
    "self-managed": _self_managed,
    "existing-secret": _existing_secret,
    "cert-manager": _cert_manager,
}


class Release:
    """The chart in one cluster, with the values of one mode."""

    def __init__(self, cluster: Cluster, mode: str, values: tuple[Object, ...]) -> None:
        self.cluster, self.mode = cluster, mode
        self.helm = Helm(cluster, NAMESPACE)
        self.values = values
        self._asked_before = len(self._asked_ever())

    def upgrade(self, *values: Object, flags: tuple[str, ...] = ()) -> str:
        """Install it, or upgrade it, with more values, and wait until it is ready. Raises `RuntimeError`."""
        return self.helm(*UPGRADE, "--wait", "--timeout=180s", *flags, values=(*self.values, *values))

    def rendered(self, template: str, *values: Object) -> Object:
        """The object of one template of the chart, with more values, without creating it. Raises `RuntimeError`."""
        command = ("template", RELEASE, str(CHART), f"--show-only=templates/{template}")
        made: Object = yaml.safe_load(self.helm(*command, values=(*self.values, *values)))
        return made

    def manifests(self, *values: Object) -> str:
        """All objects of the chart, with more values, as `helm template` prints them for other tools."""
        return self.helm("template", RELEASE, str(CHART), "--skip-tests", values=(*self.values, *values))

    def uninstall(self) -> None:
        """Remove it and wait until its pods are gone; Helm itself does not wait."""
        self.helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout=180s")
        pods = f"{CORE}/pods?labelSelector={SELECTOR}"
        wait_for("the release's pods to be gone", lambda: not self.cluster.api.items(pods))

    def asked(self) -> list[audit.Request]:
        """The requests of its pods' service account to the API server."""
        return self._asked_ever()[self._asked_before :]

    def granted(self) -> set[tuple[str, str, str]]:
        """The rights of its service account: verb, group and resource."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        paths = (f"{rbac}/clusterroles/{NAME}", f"{rbac}/namespaces/{NAMESPACE}/roles/{NAME}")
        roles = [role for path in paths if (role := self.cluster.api.find(path)) is not None]
        return {
            (verb, group, resource)
            for role in roles
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    def _asked_ever(self) -> list[audit.Request]:
        return audit.requests(self.cluster.control, NAMESPACE, NAME)

    def pods(self) -> list[Object]:
        """Its pods that are not being deleted."""
        found = self.cluster.api.items(f"{CORE}/pods?labelSelector={SELECTOR}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def servers(self) -> list[ServerPod]:
        """The same pods, with their metrics and certificates."""
        found = [(pod["metadata"], pod["status"]) for pod in self.pods()]
        return [ServerPod(self.cluster, names["name"], names["uid"], status["podIP"]) for names, status in found]

    def wait_served(self, certificate: bytes) -> None:
        """Wait until every server serves a certificate that has been put into its Secret.

        The kubelet would carry it into a pod's volume with its next look at the pod, a minute later. It looks at once
        when the pod's annotations change; again and again, for it may not know yet of the changed Secret.
        """
        wanted, looks = x509.load_pem_x509_certificate(certificate), count()

        def served() -> bool:
            annotate = ("annotate", "pod", f"--selector={SELECTOR}", "--overwrite", f"looked={next(looks)}")
            self.cluster.kubectl(f"--namespace={NAMESPACE}", *annotate)
            return all(server.leaf() == wanted for server in self.servers())

        wait_for("the certificate to be served", served, every=1)

    def bundles(self) -> dict[str, bytes]:
        """The bundle of each entry of both configurations."""
        stored = [self.cluster.api.get(f"{path}/{NAME}") for path in (MUTATING, VALIDATING)]
        return {name: bundle for each in stored for name, bundle in bundles(each).items()}


def bundles(configuration: Object) -> dict[str, bytes]:
    """The bundle of each entry of a configuration; empty if there is none."""
    entries = configuration["webhooks"]
    return {one["name"]: base64.b64decode(one["clientConfig"].get("caBundle", "")) for one in entries}


@contextmanager
def prepared(cluster: Cluster, mode: str, **config: Object) -> Iterator[Release]:
    """All that an installation in a mode needs, in a namespace that enforces the restricted Pod Security profile.

    `config` are settings of all its upgrades. Nothing is installed yet. At the end everything is gone, the release too.
    """
    webhook_image.load(cluster)
    cluster.kubectl("apply", "-f", "-", manifest=product.RUNTIME_CLASS)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.api.create_namespace(NAMESPACE, labels)
    try:
        with MODES[mode](cluster) as values:
            release = Release(cluster, mode, (_COMMON, values, {"config": config}))
            try:
                yield release
            finally:
                release.uninstall()
    finally:
        cluster.api.delete(CORE)
        wait_for("the release's namespace to be gone", lambda: cluster.api.find(CORE) is None)
