"""Upgrades of the chart lose no create, keep every bundle, and touch nothing that did not change."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.cluster.harness.creates import creating, lost, summary
from tests.cluster.harness.failures import failures
from tests.cluster.harness.hooks import MUTATING, VALIDATING
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.release import MODES, NAME, RELEASE, bundles, prepared
from tests.cluster.harness.selection import parameters
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPResponse

    from tests.cluster.harness.api import Api, Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace


# The chart's default: on a busy machine, too, the API server learns in this time that a server stops.
PATIENT = {"shutdownDelay": "10s"}
# A kind that no preset contains has an entry of its own, named after its resource.
TRAINS, SHIPS = ("example.com", "Train", "trains"), ("example.com", "Ship", "ships")


@pytest.fixture(scope="module", params=parameters([*MODES], ["self-managed", "cert-manager"], str))
def release(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Release]:
    with prepared(cluster, request.param, server=PATIENT) as release:
        release.upgrade()
        _wait_trusted(release)  # with cert-manager, pods are ready before the cainjector has written the bundles
        yield release


def _with_kinds(*kinds: tuple[str, str, str]) -> Object:
    """Values that add these kinds."""
    paths = [{"group": group, "kind": kind, "path": "spec.template", "resource": name} for group, kind, name in kinds]
    return {"config": {"workloads": {"paths": paths}}}


def _entry(kind: tuple[str, str, str]) -> str:
    return f"{kind[2]}.{kind[0]}.validate.gpushare-webhook.io"


def test_repeated_upgrade_changes_nothing(release: Release) -> None:
    before = _bare(_manifest(release, "get"))
    release.upgrade()
    assert _bare(_manifest(release, "get")) == before


def test_server_side_apply_by_other_manager_finds_no_difference(release: Release) -> None:
    applied = _manifest(release, "apply", "--server-side", "--dry-run=server", "--field-manager=gitops")
    assert _bare(applied) == _bare(_manifest(release, "get"))


def _manifest(release: Release, *command: str) -> list[Object]:
    """The release's objects, as kubectl shows them."""
    manifest = release.helm("get", "manifest", RELEASE)
    said = release.cluster.kubectl(*command, "--filename=-", "--output=json", manifest=manifest)
    found: list[Object] = json.loads(said)["items"]
    return found


def _bare(stored: list[Object]) -> list[Object]:
    """Objects without the fields that change by themselves; a change of their content also changes the generation."""
    for one in stored:
        one.pop("status", None)
        one["metadata"].pop("managedFields", None)
        del one["metadata"]["resourceVersion"]
    return stored


def test_upgrade_takes_effect_without_lost_creates(
    release: Release, space: Workspace, record_property: Callable[[str, object], None]
) -> None:
    before = failures(space.cluster.control)
    with creating(space, rate=10) as creates:
        creates.wait_for_more()
        release.upgrade({"replicas": 3, "config": {"mode": "warn", "server": {"drainTimeout": "9s"}}})
        creates.wait_for_more()
    record_property("figures", f"{summary(creates.answered)}; {len(lost(creates.answered))} lost")
    assert lost(creates.answered) == [], failures(space.cluster.control).since(before).logged
    assert len(release.pods()) == 3
    done = space.run("create", "-f", "-", manifest=pod("two", container(gpus=2), schedulerName="none"))
    assert "Warning: GPS001" in done.stderr
    assert done.returncode == 0


def test_added_and_removed_entries_leave_other_bundles_alone(release: Release) -> None:
    # With cert-manager the other way fails: see the test below.
    flags = (f"--server-side={str(release.mode != 'cert-manager').lower()}",)
    with history(release.cluster.api, MUTATING, NAME) as one, history(release.cluster.api, VALIDATING, NAME) as other:
        for kinds in ((TRAINS,), (TRAINS, SHIPS), (SHIPS,), ()):
            release.upgrade(_with_kinds(*kinds), flags=flags)
            _wait_trusted(release, *kinds)
    for versions in (one, other):
        _never_blanked(versions)
    assert len(other) > len((TRAINS, SHIPS))


def _wait_trusted(release: Release, *kinds: tuple[str, str, str]) -> None:
    """Wait until exactly these kinds have entries, and every entry has a bundle."""

    def trusted() -> bool:
        found = release.bundles()
        custom = {name for name in found if name in {_entry(TRAINS), _entry(SHIPS)}}
        return all(found.values()) and custom == {_entry(kind) for kind in kinds}

    wait_for("every entry to be trusted", trusted)


def _never_blanked(versions: list[Object]) -> None:
    """Assert that an entry that once had a bundle always has one."""
    for before, after in pairwise(versions):
        had, has = bundles(before), bundles(after)
        assert [name for name in has if had.get(name) and not has[name]] == []


@pytest.mark.parametrize("release", ["cert-manager"], indirect=True)
def test_field_ownership_of_cert_manager_is_reported_and_can_be_released(release: Release) -> None:
    """The cainjector applies bundles server-side and owns a part of every entry, which a dropped entry leaves."""
    release.upgrade(_with_kinds(TRAINS), flags=("--server-side=true",))
    _wait_trusted(release, TRAINS)
    before = release.bundles()
    with pytest.raises(RuntimeError, match="sideEffects: Required value"):
        release.upgrade(flags=("--server-side=true",))
    assert release.bundles() == before
    release.upgrade(flags=("--server-side=false",))
    del before[_entry(TRAINS)]
    assert release.bundles() == before


@contextmanager
def history(api: Api, collection: str, name: str) -> Iterator[list[Object]]:
    """The versions of an object while the block runs, from the current one on; complete after the block."""
    first = api.get(f"{collection}/{name}")
    query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={first['metadata']['resourceVersion']}"
    versions = [first]
    connection = api.connection(seconds=600)
    connection.request("GET", f"{collection}?{query}", headers=api.headers())
    with ThreadPoolExecutor(1, thread_name_prefix="history") as reader:
        reading = reader.submit(_read, connection.getresponse(), versions)
        try:
            yield versions
            last = api.get(f"{collection}/{name}")["metadata"]["resourceVersion"]
            wait_for("the last version", lambda: versions[-1]["metadata"]["resourceVersion"] == last or reading.done())
        finally:
            connection.sock.shutdown(socket.SHUT_RDWR)  # wakes the reader, which closing would not
            reading.result()
            connection.close()


def _read(answer: HTTPResponse, versions: list[Object]) -> None:
    """Append each version that the watch reports, until the connection ends."""
    while line := answer.readline():
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise RuntimeError(f"the watch ended: {event['object']['message']}")
        versions.append(event["object"])
