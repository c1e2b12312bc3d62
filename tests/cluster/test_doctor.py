"""`doctor` reports each fault of an installation while it lasts, and nothing of one that is well."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.cluster.faults import cluster_side, plugin, webhook_side
from tests.cluster.faults.site import INSTALLED, Site, bare, site
from tests.cluster.harness.command import command
from tests.cluster.harness.release import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.faults.site import Trouble
    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster

DOCTOR = (*plugin.TROUBLES, *cluster_side.TROUBLES, *webhook_side.TROUBLES)
ROUNDS = list(dict.fromkeys(trouble.round for trouble in DOCTOR))
BEFORE, AFTER = "before", "after"
"""Rounds without a fault."""


def _report(cluster: Cluster, *arguments: str) -> Object:
    """What `doctor` says; its exit status says whether there are findings."""
    done = command(cluster, "doctor", *arguments, "-o", "json")
    assert done.returncode in (0, 1), done.stderr
    report: Object = json.loads(done.stdout)
    assert report["kind"] == "DoctorReport"
    assert (done.returncode == 1) == bool(report["findings"])
    return report


def _found(report: Object) -> set[str]:
    return {one["finding"] for one in report["findings"]}


def _of(name: str) -> list[Trouble]:
    """The faults of a round."""
    return [trouble for trouble in DOCTOR if trouble.round == name]


@pytest.fixture(scope="module")
def cluster(needs_node: None) -> Iterator[Cluster]:
    with bare() as started:
        yield started


@pytest.fixture(scope="module")
def missing(cluster: Cluster) -> Object:
    """The report of the cluster before our webhook is installed."""
    return _report(cluster)


@pytest.fixture(scope="module")
def installed(cluster: Cluster, missing: Object) -> Iterator[Site]:
    with site(cluster) as made:
        yield made


class Rounds:
    """The report of each round, whose faults last at the same time while `doctor` runs."""

    def __init__(self, installed: Site) -> None:
        self._installed = installed
        self.reports: dict[str, Object] = {}

    def report(self, name: str) -> Object:
        """Make the faults of a round, ask once, and undo them."""
        if name not in self.reports:
            with ExitStack() as troubles:
                for trouble in _of(name):
                    troubles.enter_context(trouble.make(self._installed))
                self.reports[name] = _report(self._installed.cluster, "--installed-as", INSTALLED)
        return self.reports[name]


@pytest.fixture(scope="module")
def rounds(installed: Site) -> Rounds:
    return Rounds(installed)


def test_only_missing_webhook_is_found_before_installation(missing: Object) -> None:
    assert _found(missing) == {"webhook-not-installed"}, missing


def test_nothing_is_found_when_all_is_well(rounds: Rounds) -> None:
    assert rounds.report(BEFORE)["findings"] == []


@pytest.mark.parametrize(
    "trouble", [pytest.param(trouble, id=trouble.finding) for name in ROUNDS for trouble in _of(name)]
)
def test_fault_is_found(rounds: Rounds, trouble: Trouble) -> None:
    report = rounds.report(trouble.round)
    assert trouble.finding in _found(report), report


@pytest.mark.parametrize("name", ROUNDS)
def test_nothing_else_is_found(rounds: Rounds, name: str) -> None:
    """In no round is a finding beside those of its faults, and those that may follow from them."""
    expected = {finding for trouble in _of(name) for finding in (trouble.finding, *trouble.also)}
    assert _found(rounds.report(name)) <= expected, rounds.report(name)


def test_exactly_the_objects_of_a_former_render_are_named(rounds: Rounds) -> None:
    report = rounds.report("configured")
    (found,) = [one for one in report["findings"] if one["finding"] == "left-over"]
    assert found["commands"] == [["kubectl", "-n", NAMESPACE, "delete", *webhook_side.GUARD]]


def test_nothing_is_found_when_faults_are_undone(
    rounds: Rounds, record_property: Callable[[str, object], None]
) -> None:
    record_property("faults", f"{len(DOCTOR) + 1} in {len(ROUNDS) + 1} rounds")
    assert rounds.report(AFTER)["findings"] == []
