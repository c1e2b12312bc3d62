"""The webhook as the chart installs it, with certificates valid for a minute, while pods are created."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.failures import failures
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.release import CORE, NAME, Release, prepared
from tests.cluster.harness.waiting import wait_for
from webhook.pki import bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.workspace import Workspace

SECRET = f"{CORE}/secrets/{NAME}-ca"
# A third of a leaf's lifetime exceeds the settle time, so that a leaf outlives the time without a signing authority.
BRIEF = {"caLifetime": "75s", "leafLifetime": "36s", "settle": "4s"}
EVENTS = "gpushare_webhook_certificate_events_total"


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    """Three replicas whose authority is replaced every minute."""
    with prepared(cluster, "self-managed") as made:
        made.upgrade({"replicas": 3, "config": {"tls": BRIEF}})
        yield made


def rotations(release: Release) -> float:
    return sum(server.metric(EVENTS, what="rotations") for server in release.servers())


def authorities(release: Release) -> set[bytes]:
    """The authorities in all entries, in PEM."""
    return {bundle.render([one]) for pem in release.bundles().values() for one in bundle.read(pem)}


@pytest.mark.parametrize("wanted", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_authority_rotation_loses_no_create(
    release: Release, space: Workspace, wanted: int, record_property: Callable[[str, object], None]
) -> None:
    first, before, counted = authorities(release), rotations(release), failures(space.cluster.control)
    with creating(space) as creates:
        wait_for("the rotations", lambda: rotations(release) >= before + wanted, seconds=240, every=1)
        wait_for("the first authority to go", lambda: not first & authorities(release), seconds=180, every=1)
        creates.wait_for_more()
    record_property("figures", summary(creates.answered))
    assert [one.message for one in lost(creates.answered)] == []
    assert len(creates.answered) > 500 * wanted
    met = failures(space.cluster.control).since(counted)
    assert (met.failed_open, met.rejected) == (0, 0), met.logged


def test_deleted_and_damaged_secret_loses_no_create(release: Release, space: Workspace) -> None:
    with creating(space) as creates:
        for harm in (_delete, _damage):
            harm(space)
            _wait_rotated(release, rotations(release))
            creates.wait_for_more()
        creates.wait_for_more(100)
    assert [one.message for one in lost(creates.answered)] == [], summary(creates.answered)


def test_foreign_changes_are_reverted(release: Release) -> None:
    blank = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    for path in (MUTATING, VALIDATING):
        release.cluster.api.patch(f"{path}/{NAME}", blank, form="json")
    wait_for("the bundles", lambda: all(release.bundles().values()))


def _wait_rotated(release: Release, before: float) -> None:
    wait_for("a new authority", lambda: rotations(release) > before, seconds=120, every=1)


def _delete(space: Workspace) -> None:
    space.cluster.api.delete(SECRET)


def _damage(space: Workspace) -> None:
    rubbish = base64.b64encode(b"rubbish").decode()
    space.cluster.api.patch(SECRET, {"data": {"ca.key": rubbish}})
