"""`why` names the cause of each fault first: the faults are really made, and their causes were written before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.faults import admission, crashing, creation, pending, running, starting
from tests.cluster.faults.fault import Fault
from tests.cluster.faults.scene import STATES, Stage, scene
from tests.cluster.harness.command import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import Cluster

WHY = (
    *pending.FAULTS,
    *creation.FAULTS,
    *admission.FAULTS,
    *starting.FAULTS,
    *running.FAULTS,
    *crashing.FAULTS,
)
"""The faults of `why`, which are produced in the order of `STATES`."""

SHARE = 0.95
"""How many of the faults `why` must name first."""

_NAMED: dict[bool, dict[str, bool]] = {False: {}, True: {}}
"""Whether the first cause is the expected one, by fault; of those that are produced, and of those that are recorded."""


def _in_order() -> Iterator[Any]:
    for state in STATES:
        for fault in WHY:
            if fault.state == state:
                yield pytest.param(fault, id=fault.name)


@pytest.fixture(scope="module")
def cluster(needs_node: None) -> Iterator[Cluster]:
    with scene() as started:
        yield started


@pytest.fixture(scope="module")
def stage(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The cluster in the state of each fault in turn, with the faults of the tests that run."""
    with Stage(cluster, _selected(request.session)) as made:
        yield made


def _selected(session: pytest.Session) -> list[Fault]:
    specs = [getattr(item, "callspec", None) for item in session.items]
    found = [spec.params.get("fault") for spec in specs if spec is not None]
    return [fault for fault in WHY if fault in found]


@pytest.mark.parametrize("fault", list(_in_order()))
def test_why_names_cause_first(cluster: Cluster, stage: Stage, fault: Fault) -> None:
    stage.show(fault)
    logs = ["--logs"] if fault.logs else []
    done = command(cluster, "why", f"{fault.kind}/main", "-n", fault.name, *logs, "-o", "json")
    assert done.returncode == int(fault.expected not in ("nothing-wrong", "completed")), done.stderr
    report = json.loads(done.stdout)
    causes = [one["cause"] for one in report["causes"]]
    _NAMED[fault.recorded][fault.name] = causes[:1] == [fault.expected]
    assert report["kind"] == "WhyReport"
    assert causes[:1] == [fault.expected], report


def test_unknown_pod_is_an_error(cluster: Cluster) -> None:
    done = command(cluster, "why", "pod/no-such-pod", "-n", "default")
    assert done.returncode == 2
    assert "no-such-pod" in done.stderr
    assert "Traceback" not in done.stderr


def test_share_of_causes_named_first(record_property: Callable[[str, object], None]) -> None:
    for recorded, named in _NAMED.items():
        wrong = sorted(name for name, right in named.items() if not right)
        what = "recorded faults" if recorded else "faults"
        record_property(what, f"{len(named) - len(wrong)} of {len(named)} named first; others: {wrong}")
    assert all(_NAMED.values()), "the tests of the faults run before this one"
    for named in _NAMED.values():
        assert sum(named.values()) >= SHARE * len(named)
