"""Policies and hooks together: each finding appears once, and no denied pod gets through while policies come and go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.cli.run import run
from tests.cluster.harness.cluster import control_plane
from tests.cluster.harness.hooks import local_webhook, rejection
from tests.cluster.harness.manifests import container, deployment, pod
from tests.cluster.harness.place import Loopback
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
HOOK, POLICY = "admission webhook", "ValidatingAdmissionPolicy"


@pytest.fixture(scope="module")
def running(needs_control_plane: None) -> Iterator[ControlPlaneOnly]:
    """A control plane with both hooks of a webhook that leaves decisions to policies."""
    with control_plane(place=Loopback) as started:
        started.api.create(CLASSES, {"metadata": {"name": "nvidia"}, "handler": "nvidia"})  # which pods get
        with local_webhook(started, settings={"policies": {"enabled": True}}):
            yield started


@pytest.fixture
def exported() -> Object:
    objects = [one for one in yaml.load_all(run("export", "policies").out, yaml.CSafeLoader) if one]
    return {"apiVersion": "v1", "kind": "List", "items": objects}


def _denial(running: ControlPlaneOnly) -> str:
    return rejection(running, pod("two", container(gpus=2)))


@contextmanager
def _watching(running: ControlPlaneOnly) -> Iterator[list[str]]:
    """Create a denied pod again and again during the block; yields what the API server says each time."""
    ended, said = Event(), list[str]()

    def watch() -> None:
        while not ended.is_set():
            said.append(_denial(running))

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield said
        finally:
            ended.set()
        watching.result()


def _warnings(running: ControlPlaneOnly, manifest: Object) -> str:
    """The warnings about an object that the API server accepts."""
    done = running.kubectl.run("create", "--dry-run=server", "--filename=-", manifest=manifest)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_each_finding_appears_once_and_none_is_lost_meanwhile(running: ControlPlaneOnly, exported: Object) -> None:
    hurried = pod("hurried", terminationGracePeriodSeconds=0)
    template = deployment("hurried", container())
    template["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    assert HOOK in _denial(running)
    with _watching(running) as denials:
        running.kubectl("apply", "--server-side", "--filename=-", manifest=exported)
        wait_for("the policies to decide", lambda: POLICY in _denial(running), seconds=90)
        wait_for("the policy that warns", lambda: _warnings(running, hurried))
        assert [_warnings(running, one).count("GPS015 ") for one in (hurried, template)] == [1, 1]
        denied = _denial(running)
        assert (HOOK in denied, denied.count("GPS001 ")) == (False, 1)
        running.kubectl("delete", "--filename=-", manifest=exported)
        wait_for("the hooks to decide", lambda: HOOK in _denial(running))
    assert len(denials) > 10
    assert [one for one in denials if "GPS001 " not in one] == []
