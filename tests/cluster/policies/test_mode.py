"""The annotation of an emergency switches the policies off, whether a replica of the webhook lives or not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.hooks import is_mutated
from tests.cluster.harness.manifests import container, pod
from tests.cluster.harness.waiting import wait_for
from tests.cluster.policies.installed import exported, installed
from tests.cluster.policies.release import ACCOUNT, ACCOUNTS, INSTALLED_AS, NAME, parameters_object, set_mode
from tests.cluster.policies.sides import POLICED
from webhook.inprocess.installation import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.policies.sides import Sides

CONTRACT = 3.0
"""Seconds within which a change of the annotation is in force."""

MODES = {None: (True, True), "warn": (False, True), "audit": (False, False), "off": (False, False)}
"""By mode, whether the policies deny, and whether they change pods."""


@pytest.fixture(scope="module", autouse=True)
def policies(both: Sides, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    objects = exported(tmp_path_factory.mktemp("policies"), None, *INSTALLED_AS)
    with parameters_object(both.running, {}), installed(both.running, objects):
        wait_for("the policies to decide", lambda: _decide(both) == MODES[None])
        yield


def _decide(both: Sides) -> tuple[bool, bool]:
    """Whether the policies deny two replicas, and whether they change a pod."""
    over, within = both.create(pod("two", container(gpus=2)), POLICED), both.create(pod("one"), POLICED)
    return "GPS001" in over.lines, is_mutated(within.made)


@pytest.mark.parametrize("mode", [one for one in MODES if one])
def test_policies_obey_annotation(both: Sides, mode: str, record_property: Callable[[str, Any], None]) -> None:
    for wanted in (mode, None):
        set_mode(both.running, ACCOUNT, wanted)
        began = time.monotonic()
        wait_for(f"the mode {wanted}", lambda wanted=wanted: _decide(both) == MODES[wanted])  # type: ignore[misc]
        took = time.monotonic() - began
        record_property(f"to {wanted}", f"{took:.2f} s")
        assert took < CONTRACT


def test_policies_without_parameters_object_decide_nothing(both: Sides) -> None:
    """Each binding names the object and its namespace, so that no other object provides the mode."""
    both.running.api.delete(ACCOUNT)
    try:
        wait_for("the policies to stop", lambda: _decide(both) == (False, False))
    finally:
        both.running.api.create(ACCOUNTS, {"metadata": {"name": NAME + SUFFIX}})
    wait_for("the policies to decide", lambda: _decide(both) == MODES[None])
