"""What the device plugin refuses, by release. tests/deviceplugin compares the verdicts with the plugin's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.checks.gps031_without_effect import run
from webhook.policy.sharing.config import RefusedError, parse, refusals
from webhook.policy.sharing.context import SharingConfig
from webhook.policy.sharing.problems import FIRST, NEWEST, release_of
from webhook.policy.sharing.schema import Held, read

RELEASES = range(FIRST, NEWEST + 1)
BLOCK = {"resources": [{"name": "gpu", "replicas": 2}]}


@pytest.mark.parametrize(
    ("version", "release"),
    [("v0.14.5", 15), ("0.15.0", 15), ("v0.17.4", 17), ("v0.20.0-rc.1", 20), ("v0.25.0", 20), ("v1.2.3", 20)],
)
def test_version_belongs_to_a_release(version: str, release: int) -> None:
    assert release_of(version) == release


def test_problems_follow_the_sorted_names_of_fields() -> None:
    """The plugin converts YAML to JSON with sorted keys, and decodes that."""
    wrong = {
        "version": {},
        "sharing": {
            "timeSlicing": {"resources": 1},
            "mps": {"renameByDefault": 1, "resources": [1, {"replicas": 2}, {"name": 1, "devices": 0, "rename": 1}]},
            "MPS": {"resources": []},
        },
        "resources": {"mig": [1, {"name": "a"}], "gpus": [{"pattern": 1, "name": None}]},
        "imex": {"channelIDs": 1},
        "flags": {"plugin": {"deviceListStrategy": [1, None, "a", True]}, "gfd": 1, "failOnInitError": "true"},
    }
    assert [".".join(map(str, problem.path)) for problem in read(wrong, {})] == [
        "flags.failOnInitError",
        "flags.gfd",
        "flags.plugin.deviceListStrategy.0",
        "flags.plugin.deviceListStrategy.3",
        "imex.channelIDs",
        "resources.gpus.0.pattern",
        "resources.gpus.0.name",
        "resources.mig.0",
        "resources.mig.1",
        "sharing.MPS",
        "sharing.mps.renameByDefault",
        "sharing.mps.resources.0",
        "sharing.mps.resources.1",
        "sharing.mps.resources.2.name",
        "sharing.mps.resources.2.devices",
        "sharing.mps.resources.2",
        "sharing.mps.resources.2.rename",
        "sharing.timeSlicing.resources",
        "version",
    ]


@pytest.mark.parametrize("block", [1, [BLOCK], {"resources": []}])
def test_block_that_cannot_be_read_has_one_problem(block: object) -> None:
    assert len(list(read({"sharing": {"mps": block}}, {}))) == 1


@pytest.mark.parametrize(("value", "written"), [(True, "true"), (False, "false"), (1, "1"), (1.5, "1.5")])
def test_version_becomes_text(value: object, written: str) -> None:
    refusal = refusals({"version": value}, None)
    assert refusal is not None
    assert refusal.problem == f'must be v1, not "{written}"'


@pytest.mark.parametrize(
    "interval", ["infinit", "", "1", "s", ".s", "1s ", "9" * 50_000, "9" * 50_000 + "h", "1h" * 30_000 + "x", "0" * 99]
)
def test_text_that_is_no_duration_is_refused(interval: str) -> None:
    assert refusals({"flags": {"gfd": {"sleepInterval": interval}}}, None) is not None


@pytest.mark.parametrize("interval", ["0", "-0", "1.5h30m", "0" * 50_000 + "1s", ".5s", 1, 1.5, None])
def test_duration_is_accepted(interval: object) -> None:
    assert refusals({"flags": {"gfd": {"sleepInterval": interval}}}, None) is None


@pytest.mark.parametrize("index", ["0" * 50_000 + "1", "18446744073709551615"])
def test_index_of_a_device_has_64_bits(index: str) -> None:
    resource = {"name": "gpu", "replicas": 2, "devices": [index, f"0:{index}"]}
    assert refusals({"sharing": {"mps": {"resources": [resource]}}}, None) is None
    resource["devices"] = [index + "6"]
    refusal = refusals({"sharing": {"mps": {"resources": [resource]}}}, None)
    assert (refusal is None) == index.startswith("0")


def test_last_of_a_field_in_different_case_counts() -> None:
    held: dict[str, Held] = {}
    assert list(read({"flags": {"MIGSTRATEGY": "mixed", "migStrategy": "none"}}, held)) == []
    assert held["migStrategy"].value == "none"
    assert refusals({"Sharing": {"mps": BLOCK}, "sharing": {"mp\u017f": None}}, None) is None
    assert parse("a", {"Sharing": {"mps": BLOCK}, "sharing": {"mp\u017f": None}}).strategy == "none"


@pytest.mark.parametrize(("mig_strategy", "is_refused"), [("mixed", True), ("none", False), (None, True)])
def test_variable_overrides_the_mig_strategy_of_the_file(mig_strategy: str | None, is_refused: bool) -> None:
    value = {"flags": {"migStrategy": "mixed"}, "sharing": {"mps": BLOCK}}
    assert (refusals(value, None, mig_strategy) is not None) == is_refused


NAMES = st.sampled_from(
    [
        *("version", "flags", "sharing", "mps", "timeSlicing", "resources", "name", "replicas", "devices", "rename"),
        *("imex", "channelIDs", "gfd", "plugin", "sleepInterval", "migStrategy", "deviceListStrategy", "gpus"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_refusal_of_an_unknown_version_is_that_of_its_releases(value: Any) -> None:
    refusing = [release for release in RELEASES if refusals(value, f"v0.{release}.0")]
    refusal = refusals(value, None)
    if refusal is None:
        assert refusing == []
    elif not refusal.releases:
        assert refusing == list(RELEASES)
    else:
        word, number = refusal.releases.removesuffix(" on").split(" v0.")
        named = [release for release in RELEASES if (release >= int(number)) == (word == "from")]
        assert set(named) <= set(refusing)


@given(VALUES)
def test_facts_hold_what_some_release_accepts(value: Any) -> None:
    refusal = refusals(value, None)
    if refusal is None or refusal.releases:
        assert parse("a", value).name == "a"
        return
    with pytest.raises(RefusedError) as refused:
        parse("a", value)
    assert (refused.value.path, str(refused.value)) == (refusal.path, refusal.problem)


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
