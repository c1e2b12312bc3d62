"""What the device plugin refuses. tests/deviceplugin compares the verdicts with the plugin's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deviceplugin.configurations import configurations
from webhook.manifests import Document, documents
from webhook.policy.checks import CONFIG_CHECKS
from webhook.policy.checks.gps031_without_effect import run
from webhook.policy.sharing.config import NEWEST, OLDEST, RefusedError, nearest_known, parse, read, refusal
from webhook.policy.sharing.objects import SharingConfig
from webhook.policy.verdict import MESSAGE_LIMIT, Severity

BLOCK = {"resources": [{"name": "gpu", "replicas": 2}]}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"version": {}, "flags": {"plugin": {"deviceListStrategy": [1]}, "migStrategy": 1}}, "flags.migStrategy"),
        (
            {"version": {}, "flags": {"plugin": {"deviceListStrategy": [None, "a", True]}}},
            "flags.plugin.deviceListStrategy.2",
        ),
        ({"sharing": {"mps": {"resources": 1}, "MPS": {"resources": []}}}, "sharing.MPS"),
        ({"version": {}, "sharing": {"timeSlicing": {"resources": 1}, "mps": BLOCK}}, "sharing.timeSlicing.resources"),
        ({"version": {}, "sharing": {"mps": BLOCK}}, "version"),
    ],
)
def test_first_refused_value_is_that_of_the_first_name(value: object, path: str) -> None:
    """The plugin converts YAML to JSON with sorted keys, and decodes that."""
    found = refusal(value)
    assert found is not None
    assert ".".join(map(str, found.path)) == path


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ({"renameByDefault": 1, "resources": [1]}, "renameByDefault"),
        ({"resources": [1, {"replicas": 2}]}, "resources.0"),
        ({"resources": [{"name": "gpu", "replicas": 2}, {"replicas": 2}]}, "resources.1"),
        ({"resources": [{"name": 1, "devices": 0, "rename": 1}]}, "resources.0.name"),
        ({"resources": [{"name": "gpu", "devices": 0, "rename": 1}]}, "resources.0.devices"),
        ({"resources": [{"name": "gpu", "devices": 1, "rename": 1}]}, "resources.0"),
        ({"resources": [{"name": "gpu", "replicas": 1, "rename": 1}]}, "resources.0.replicas"),
        ({"resources": [{"name": "gpu", "replicas": 2, "rename": 1}]}, "resources.0.rename"),
    ],
)
def test_fields_of_a_block_are_read_in_order(block: object, path: str) -> None:
    found = refusal({"sharing": {"mps": block}})
    assert found is not None
    assert ".".join(map(str, found.path)) == f"sharing.mps.{path}"


@pytest.mark.parametrize(
    "value",
    [
        *(1, {"flags": 1}, {"flags": {"plugin": []}}, {"sharing": []}),
        *({"sharing": {"mps": 1}}, {"sharing": {"mps": [BLOCK]}}),
    ],
)
def test_value_that_is_no_mapping_is_refused(value: object) -> None:
    assert str(refusal(value)).startswith("must be a mapping, not ")


@pytest.mark.parametrize(("value", "written"), [(True, "true"), (False, "false"), (1, "1"), (1.5, "1.5")])
def test_version_becomes_text(value: object, written: str) -> None:
    found = refusal({"version": value})
    assert found is not None
    assert str(found) == f'must be v1, not "{written}"'


@pytest.mark.parametrize(
    "value",
    [
        {"flags": {"deviceDiscoveryStrategy": "cdi", "failOnInitError": "true", "gfd": {"sleepInterval": "60"}}},
        {"flags": {"plugin": {"deviceIDStrategy": "path", "sharedDevicesAllocationPolicy": "spread"}, "gfd": 1}},
        {"resources": {"gpus": [{"name": "gpu"}]}, "imex": {"channelIDs": [1]}},
        {"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 2, "devices": ["first"]}]}}},
    ],
)
def test_value_that_has_nothing_to_do_with_sharing_is_not_judged(value: object) -> None:
    assert refusal(value) is None


def test_last_of_a_field_in_different_case_counts() -> None:
    assert read({"flags": {"MIGSTRATEGY": "mixed", "migStrategy": "none"}})["migStrategy"].value == "none"
    assert refusal({"Sharing": {"mps": BLOCK}, "sharing": {"mp\u017f": None}}) is None
    assert parse("a", {"Sharing": {"mps": BLOCK}, "sharing": {"mp\u017f": None}}).strategy == "none"


def test_release_that_is_not_known_denies_no_configuration() -> None:
    texts = configurations()[::4]
    read = (next(documents("", text.encode()), None) for text in texts)
    values = [one.value if isinstance(one, Document) else None for one in read]
    for version in ("v0.99.0", "v0.14.5", "v999999999.999999999.0-a-long-word"):
        given = (SharingConfig(value, version) for value in values)
        found = [each for config in given for check in CONFIG_CHECKS for each in check.run(config)]
        assert len(found) > len(texts) // 2
        assert {each.cap for each in found} == {Severity.WARN}
        assert max(len(str(each.message)) for each in found) <= MESSAGE_LIMIT


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        *((None, ""), ("v0.15.0", ""), ("0.20.7", ""), ("v0.17.4-ubi9", "")),
        *(("v0.14.5", "v0.15"), ("v0.21.0", "v0.20"), ("v1.0.0", "v0.20")),
    ],
)
def test_nearest_known_release(version: str | None, nearest: str) -> None:
    assert nearest_known(version) == nearest
    assert OLDEST < NEWEST


NAMES = st.sampled_from(
    [
        *("version", "flags", "sharing", "mps", "timeSlicing", "resources", "name", "replicas", "devices", "rename"),
        *("plugin", "migStrategy", "deviceListStrategy", "renameByDefault", "failRequestsGreaterThanOne"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_facts_hold_what_the_plugin_accepts(value: Any) -> None:
    found = refusal(value)
    if found is None:
        assert parse("a", value).name == "a"
        return
    with pytest.raises(RefusedError) as refused:
        parse("a", value)
    assert (refused.value.path, str(refused.value)) == (found.path, str(found))


CASED = st.sampled_from(["resources", "Resources", "resource\u017f", "renameByDefault", "RENAMEBYDEFAULT"])
RESOURCE = st.fixed_dictionaries({"name": st.just("gpu"), "replicas": st.integers(2, 99)})
BLOCKS = st.builds(
    lambda others, resources: {**others, "resources": resources},
    st.dictionaries(CASED, VALUES, max_size=3),
    st.lists(RESOURCE, min_size=1, max_size=2),
)
SHARING = st.dictionaries(st.sampled_from(["mps", "MPS", "mp\u017f", "timeSlicing", "TimeSlicing"]), BLOCKS | VALUES)


@given(VALUES, SHARING, st.sampled_from([None, "v0.15.0", "v0.20.0"]))
def test_parts_of_any_configuration_are_looked_at(flags: Any, sharing: Any, version: str | None) -> None:
    """GPS031 relies on what the plugin accepts."""
    found = list(run(SharingConfig({"flags": flags, "Sharing": sharing}, version)))
    assert all(one.path[0] in ("flags", "Sharing") for one in found)
