"""Digests: equal for equal settings and facts in any process and order, and different for others."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from webhook.policy.placement.cluster_objects import DevicePlugin, Namespace, Node, PluginConfig, RuntimeClass, Taint
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings
from webhook.policy.snapshot import MODES
from webhook.policy.steps import finished
from webhook.server.live_config import FactsDigest, settings_digest, shown

NODES = tuple(Node(f"n{number}", {"zone": str(number), "a": "b"}, (Taint("k", "NoSchedule"),)) for number in range(250))
FACTS = Facts(NODES, (Namespace("team"),), (RuntimeClass("nvidia"),), (), DevicePlugin(configs=(PluginConfig("x"),)))


def digest(facts: Facts) -> int:
    return finished(FactsDigest().of(facts))


def test_digest_is_the_same_in_every_process() -> None:
    shows = "print(shown(digest(FACTS)), shown(settings_digest(Settings(), 'off')))"
    program = f"from tests.server.test_digests import *; {shows}"
    said = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert said == {f"{shown(digest(FACTS))} {shown(settings_digest(Settings(), 'off'))}\n"}


def test_digest_does_not_depend_on_order() -> None:
    shuffled = [replace(node, labels=dict(reversed(list(node.labels.items())))) for node in reversed(NODES)]
    assert digest(replace(FACTS, nodes=tuple(shuffled))) == digest(FACTS)


@pytest.mark.parametrize(
    "other",
    [
        Facts(),
        replace(FACTS, nodes=NODES[1:]),
        replace(FACTS, nodes=(*NODES[1:], replace(NODES[0], labels={"zone": "0", "a": "c"}))),
        replace(FACTS, device_classes=None),
        replace(FACTS, device_plugin=None),
        replace(FACTS, namespaces=(), default_queues=("team",)),
    ],
    ids=["unknown", "fewer nodes", "another label", "unknown classes", "unknown plugin", "another part"],
)
def test_digests_of_different_facts_differ(other: Facts) -> None:
    assert digest(other) != digest(FACTS)


def test_digest_that_follows_facts_equals_that_of_a_new_replica() -> None:
    following = FactsDigest()
    for count in (250, 1, 100, 250):
        facts = replace(FACTS, nodes=tuple(replace(node) for node in NODES[:count]))
        assert finished(following.of(facts)) == digest(facts)


def test_digest_takes_steps_of_a_hundred_objects() -> None:
    assert sum(1 for _ in FactsDigest().of(FACTS)) == 2


def test_settings_digest_covers_settings_and_cap() -> None:
    digests = [settings_digest(settings, cap) for settings in (Settings(), Settings(mode="warn")) for cap in MODES]
    assert len(set(digests)) == len(digests)
    assert all(float(one) == one < 2**48 for one in digests)
    assert settings_digest(Settings(severities={"GPS001": "warn", "GPS002": "warn"}), "off") == settings_digest(
        Settings(severities={"GPS002": "warn", "GPS001": "warn"}), "off"
    )


def test_digest_is_shown_with_all_its_digits() -> None:
    assert (shown(0), shown(2**48 - 1)) == ("000000000000", "ffffffffffff")
