"""Self-managed certificates on a real API server, with exactly the chart's rights."""

from __future__ import annotations

import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from tests.cluster.harness.api import ApiError
from tests.cluster.harness.cluster import ControlPlaneOnly, control_plane
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for
from tests.cluster.keepers import (
    MUTATING,
    NAME,
    NAMESPACE,
    OURS,
    SECRET,
    VALIDATING,
    Replica,
    bundles,
    configuration,
    entry,
    install,
    replicas,
)
from webhook.pki import Lifetimes, bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = timedelta(seconds=1)
QUICK = Lifetimes(ca=45 * SECOND, leaf=9 * SECOND, settle=4 * SECOND)
"""A rotation every half minute."""


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane that the replicas, which are threads of this process, can reach."""
    with control_plane(place=Loopback) as made:
        made.api.create("/api/v1/namespaces", {"metadata": {"name": "busy"}})
        yield made


@pytest.fixture
def kubeconfig(running: ControlPlaneOnly) -> Iterator[Path]:
    """An installation without configurations, removed at the end."""
    yield install(running)
    for path in (MUTATING, VALIDATING):
        if running.api.find(path) is not None:
            running.api.delete(path)
    running.api.delete(SECRET)


def configure(running: ControlPlaneOnly, made: list[Replica]) -> None:
    """Every replica has an entry in each configuration, so that every request needs all of them."""
    for path, kind in ((MUTATING, "mutate"), (VALIDATING, "validate")):
        entries = [entry(f"{kind}-{number}", one.url) for number, one in enumerate(made)]
        apply(running, path, *entries)


def apply(running: ControlPlaneOnly, path: str, *entries: object) -> None:
    """Apply a configuration on the server's side, as Helm 4 does."""
    wanted = configuration(path, entries)  # type: ignore[arg-type]
    running.api.patch(f"{path}?fieldManager=helm", wanted, form="apply")


def until_trusted(made: list[Replica]) -> None:
    wait_for("all replicas to be trusted", lambda: all(one.trusted for one in made))


def authorities(running: ControlPlaneOnly) -> list[x509.Certificate]:
    """What the `caBundle`s hold, once all hold the same."""

    def equal() -> set[str | None] | None:
        texts = {text for path in (MUTATING, VALIDATING) for text in bundles(running, path).values()}
        return texts if len(texts) == 1 else None

    (text,) = wait_for("all bundles to be equal", equal)
    return list(bundle.read(base64.b64decode(text or "")))


def has_bundles(running: ControlPlaneOnly, path: str, wanted: dict[str, str]) -> bool:
    return bundles(running, path) == wanted


@pytest.mark.parametrize("wanted", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_three_replicas_rotate_without_lost_creates(running: ControlPlaneOnly, kubeconfig: Path, wanted: int) -> None:
    with replicas(running, kubeconfig, QUICK) as made:
        configure(running, made)
        until_trusted(made)
        doubts = [one.events().count("certificate not trusted") for one in made]
        pause, sent, refused = threading.Event(), 0, []

        def create(number: int) -> None:
            body = {"metadata": {"name": f"stream-{number}"}}
            try:
                running.api.create("/api/v1/namespaces/busy/configmaps?dryRun=All", body)
            except (ApiError, OSError) as error:
                refused.append(str(error))

        def rotations() -> int:
            return sum(one.counted["rotations"] for one in made)

        with ThreadPoolExecutor(8) as clients:
            while rotations() < wanted or len(authorities(running)) > 1:
                clients.submit(create, sent)
                sent += 1
                assert sent < 3000, [one.said[-5:] for one in made]
                pause.wait(0.05)
        assert refused == []
        assert sent > 250 * wanted
        for one in made:
            assert sorted(one.calls.values()) == [sent, sent], "both hooks were called for every create"
            assert len(one.leaves) >= 3 * wanted
        assert [one.events().count("certificate not trusted") for one in made] == doubts


@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_first_create_after_ready_succeeds(running: ControlPlaneOnly, kubeconfig: Path, times: int) -> None:
    for _ in range(times):
        with replicas(running, kubeconfig, Lifetimes(), number=2) as made:
            configure(running, made)
            until_trusted(made)
            body = {"metadata": {"name": "first"}}
            running.api.create("/api/v1/namespaces/busy/configmaps?dryRun=All", body)
        for path in (MUTATING, VALIDATING):
            running.api.delete(path)
        running.api.patch(SECRET, {"data": None})


def test_repeated_apply_keeps_bundles(running: ControlPlaneOnly, kubeconfig: Path) -> None:
    with replicas(running, kubeconfig, Lifetimes()) as made:
        configure(running, made)
        until_trusted(made)
        (authority,) = authorities(running)
        ours = base64.b64encode(bundle.render([authority])).decode()
        one, two, three = (entry(f"validate-{number}", each.url) for number, each in enumerate(made))
        apply(running, VALIDATING, one, two, three)
        assert set(bundles(running, VALIDATING).values()) == {ours}, "applied twice: nothing changes"
        before = running.api.get(VALIDATING)["metadata"]["resourceVersion"]
        apply(running, VALIDATING, one, two, three)
        assert running.api.get(VALIDATING)["metadata"]["resourceVersion"] == before
        renamed = entry("renamed", made[2].url)
        for entries in ([one, two], [two, one], [two, three], [renamed, two]):
            apply(running, VALIDATING, *entries)
            assert bundles(running, VALIDATING)[two["name"]] == ours
            names = {each["name"] for each in entries}
            wanted = dict.fromkeys(names, ours)
            wait_for(f"{names} to have our bundle", partial(has_bundles, running, VALIDATING, wanted))
        managers = [field["manager"] for field in running.api.get(VALIDATING)["metadata"]["managedFields"]]
        assert sorted(managers) == ["gpushare-webhook", "helm"]


def test_deleted_secret_is_recreated_and_owned_by_deployment(running: ControlPlaneOnly, kubeconfig: Path) -> None:
    with replicas(running, kubeconfig, Lifetimes(settle=4 * SECOND)) as made:
        configure(running, made)
        until_trusted(made)
        (old,) = authorities(running)
        running.api.delete(SECRET)
        found = running.api.wait_for(SECRET, "to be recreated", bool)
        deployment = running.api.get(OURS.deployment)["metadata"]["uid"]
        (owner,) = found["metadata"]["ownerReferences"]
        assert owner == {"apiVersion": "apps/v1", "kind": "Deployment", "name": NAME, "uid": deployment}
        assert found["metadata"]["labels"] == {"app": NAME}
        running.api.wait_for(SECRET, "to sign", lambda secret: "ca.crt" in secret["data"])
        assert authorities(running)[1:] == [old]
        assert [one.said[-5:] for one in made if not one.trusted] == []


def test_foreign_changes_are_reverted(running: ControlPlaneOnly, kubeconfig: Path) -> None:
    with replicas(running, kubeconfig, Lifetimes()) as made:
        configure(running, made)
        until_trusted(made)
        ours = authorities(running)
        blank = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        running.api.patch(VALIDATING, blank, form="json")
        wait_for("the bundle", lambda: all(bundles(running, VALIDATING).values()))
        assert authorities(running) == ours
        running.api.delete(MUTATING)
        configure(running, made)
        wait_for("the bundles", lambda: all(bundles(running, MUTATING).values()))
        assert authorities(running) == ours
        until_trusted(made)


@pytest.mark.parametrize(("missing", "first"), [("patch", "validating"), ("get", "mutating")])
def test_missing_right_is_logged(running: ControlPlaneOnly, kubeconfig: Path, missing: str, first: str) -> None:
    role = running.api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}")
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{NAME}"
    rules = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb != missing]} for rule in role["rules"]]
    running.api.patch(path, {"rules": rules})
    with replicas(running, kubeconfig, Lifetimes(), number=1) as (one,):
        configure(running, [one])
        wait_for("the missing right to be logged", lambda: "certificates cannot be reconciled" in one.events())
        (error,) = (fields["error"] for _, event, fields in one.said if event == "certificates cannot be reconciled")
        account = f"system:serviceaccount:{NAMESPACE}:{NAME}"
        assert f'403 {first}webhookconfigurations.admissionregistration.k8s.io "{NAME}" is forbidden' in error
        assert f'User "{account}" cannot {missing}' in error
        assert not one.trusted
        running.api.patch(path, {"rules": role["rules"]})
        until_trusted([one])
