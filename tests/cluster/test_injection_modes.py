"""Injections that are only reported change no pod, and name and count exactly those that are made once they are on.

The pods are dry runs: the API server calls both webhooks as for other pods, and stores nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cluster.generated_pods import OWN_CLASS, generated
from tests.cluster.harness.manifests import CLASSES, container, pod
from tests.cluster.harness.node_objects import node_object
from tests.cluster.harness.release import CORE, NAME, prepared
from tests.cluster.harness.waiting import wait_for
from tests.cluster.mixed import PRODUCT, REPLICAS
from tests.cluster.sources import MPS, WHOLE
from webhook.policy.injections import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import Cluster
    from tests.cluster.harness.release import Release
    from tests.cluster.harness.workspace import Workspace

    Record = Callable[[str, object], None]

pytestmark = pytest.mark.alone

PODS = 250
CONTRACT = 3.0
"""Seconds within which changed settings are in force on all replicas."""

CONFIG_MAP = f"{CORE}/configmaps/{NAME}"
SETTINGS = {
    "mode": "warn",  # pods over the limit show their edits, too
    "facts": {"nodes": True},
    "injections": {"voidDevices": {"enabled": True}, "steering": {"enabled": True}},
}
CARD = {PRODUCT: "Tesla-T4"}
MARK = "gpushare-webhook/injected"
REPORTED = "gpushare-webhook would inject: "
BYPASSED = "kube-system"
"""A namespace for which the API server calls no webhook of the chart."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A pod as the API server would store it, without the fields that differ each time, and its warnings."""

    pod: Object
    warnings: tuple[str, ...]

    @property
    def reported(self) -> list[str]:
        """The injections that the warning names."""
        return [name for one in self.warnings if one.startswith(REPORTED) for name in one[len(REPORTED) :].split(", ")]

    @property
    def injected(self) -> list[str]:
        """The injections that the annotation names."""
        annotations = self.pod["metadata"].get("annotations", {})
        return annotations[MARK].split(",") if MARK in annotations else []


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[Release]:
    own_class = {"metadata": {"name": OWN_CLASS}, "handler": "nvidia"}
    with cluster.api.created(CLASSES, own_class), prepared(cluster, "self-managed") as release:
        release.upgrade({"config": SETTINGS})
        yield release


def test_reported_injections_are_those_that_are_made(
    release: Release, space: Workspace, record_property: Record
) -> None:
    random = Random(29)  # noqa: S311
    pods = [generated(random, f"pod-{index}") for index in range(PODS)]
    unchanged = _sent(release, BYPASSED, pods)
    (others,) = set(_known_nodes(release))
    with _nodes(release):
        record_property("report in force after", _switch(release, "report"))
        wait_for("both replicas to know the nodes", lambda: _known_nodes(release) == [others + 2] * 2)
        assert _steered(release, space) == 8
        began, before = time.monotonic(), _counted(release)
        reported = _sent(release, space.name, pods)
        counted = _counted(release) - before
        record_property("report", f"{PODS} pods in {time.monotonic() - began:.1f} s")
        record_property("on in force after", _switch(release, "on"))
        before = _counted(release)
        injected = _sent(release, space.name, pods)
        made = _counted(release) - before
    assert [one.pod for one in reported] == [one.pod for one in unchanged]
    assert [one.injected for one in injected] == [one.reported for one in reported]
    assert [one.reported for one in injected] == [[]] * PODS
    assert [one.pod != was.pod for one, was in zip(injected, unchanged, strict=True)] == [
        bool(one.injected) for one in injected
    ]
    assert {name: number for (name, mode), number in counted.items() if mode == "report"} == {
        name: number for (name, mode), number in made.items() if mode == "on"
    }
    assert {mode for _, mode in counted} == {"report"}
    assert {mode for _, mode in made} == {"on"}
    assert [one for answer in (*reported, *injected) for one in answer.warnings if "GPS019" in one] == []
    numbers = Counter(name for one in reported for name in one.reported)
    record_property("injections", dict(numbers))
    assert set(numbers) == {injection.name for injection in ALL}


def _counted(release: Release) -> Counter[tuple[str, str]]:
    """How many injections both replicas have counted, by name and mode."""
    return Counter(
        {
            (injection.name, mode): int(
                sum(
                    one.metric("gpushare_webhook_injections_total", injection=injection.name, mode=mode)
                    for one in release.servers()
                )
            )
            for injection in ALL
            for mode in ("on", "report")
        }
    )


def _sent(release: Release, namespace: str, pods: Sequence[Object]) -> list[Answer]:
    """The answers to dry runs of these pods, on one connection."""
    api = release.cluster.api
    connection = api.connection()
    answers = []
    try:
        for one in pods:
            connection.request(
                "POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", json.dumps(one), api.headers()
            )
            answer = connection.getresponse()
            stored = json.loads(answer.read())
            assert answer.status == 201, stored
            warnings = answer.headers.get_all("Warning", [])
            answers.append(Answer(_lasting(stored), tuple(text.partition('"')[2].rstrip('"') for text in warnings)))
    finally:
        connection.close()
    return answers


def _lasting(stored: Object) -> Object:
    """The pod without the fields that name its namespace or differ in each request."""
    passing = ("namespace", "uid", "creationTimestamp", "managedFields")
    return {**stored, "metadata": {name: value for name, value in stored["metadata"].items() if name not in passing}}


def _switch(release: Release, mode: str) -> str:
    """Set the mode of the injections in the chart's ConfigMap; returns the seconds until it is in force, in words."""
    settings = yaml.safe_load(release.cluster.api.get(CONFIG_MAP)["data"]["settings.yaml"])
    settings["injections"]["mode"] = mode
    before = _digests(release, "settings")
    release.cluster.api.patch(CONFIG_MAP, {"data": {"settings.yaml": yaml.safe_dump(settings)}})
    return _in_force(release, "settings", before)


def _in_force(release: Release, what: str, before: set[float]) -> str:
    """Wait until both replicas have the same settings or facts, which differ from those before."""
    began = time.monotonic()

    def same() -> bool:
        now = _digests(release, what)
        return len(now) == 1 and now.isdisjoint(before)

    wait_for(f"the {what} to be in force", same, seconds=CONTRACT, every=0.05)
    return f"{time.monotonic() - began:.2f} s on {len(release.servers())} replicas"


def _digests(release: Release, what: str) -> set[float]:
    return {one.metric("gpushare_webhook_digest", of=what) for one in release.servers()}


@contextmanager
def _nodes(release: Release) -> Iterator[None]:
    """A node with whole cards and one that shares its cards through MPS."""
    with (
        node_object(release.cluster, "whole-1", CARD | WHOLE, gpus=4),
        node_object(release.cluster, "mps-1", CARD | MPS | {REPLICAS: "4"}, gpus=4),
    ):
        yield


def _known_nodes(release: Release) -> list[float]:
    """The number of nodes with GPUs that each replica knows."""
    return [one.metric("gpushare_webhook_facts_objects", source="nodes") for one in release.servers()]


def _steered(release: Release, space: Workspace) -> int:
    """How many of eight pods over the limit would be steered: either replica may answer."""
    tried = [pod(f"tried-{index}", container(gpus=2)) for index in range(8)]
    return sum("steering" in one.reported for one in _sent(release, space.name, tried))
