"""Tolerations against brute force over taints."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.placement.cluster_objects import Taint
from webhook.policy.placement.selector import Tolerations, as_raw
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.formats import TaintEffect
from webhook.policy.settings.settings import Toleration

Json = dict[str, Any]

KEYS = ["gpu", "dedicated", "another"]
VALUES = ["", "x", "5", "another"]
EFFECTS: list[TaintEffect] = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
TAINTS = [Taint(key, effect, value) for key, effect, value in product(KEYS, EFFECTS, VALUES)]
"""Every taint that tolerations here name, and ones that none names."""


@st.composite
def tolerations(draw: st.DrawFn) -> Json:
    """A toleration that the API server accepts: without a key it says Exists, with seconds it is of NoExecute."""
    held: Json = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "key": st.sampled_from(["gpu", "dedicated"]),
                "operator": st.sampled_from(["Exists", "Equal", "", None]),
                "value": st.sampled_from(["", "x", "5", None]),
                "effect": st.sampled_from(["", None, *EFFECTS]),
            },
        )
    )
    if not held.get("key"):
        held["operator"] = "Exists"
    if held.get("effect") == "NoExecute" and draw(st.booleans()):
        held["tolerationSeconds"] = draw(st.sampled_from([0, 300, None]))
    return held


ours = st.builds(
    Toleration,
    st.sampled_from(["gpu", "dedicated"]),
    st.sampled_from(["Exists", "Equal"]),
    st.sampled_from([None, "", "x", "5"]),
    st.sampled_from([None, *EFFECTS]),
)


def naive(held: Json, taint: Taint) -> bool:
    """The documented rule, for as long as it takes."""
    if (held.get("effect") or taint.effect) != taint.effect:
        return False
    if (held.get("operator") or "Equal") == "Exists":
        return (held.get("key") or taint.key) == taint.key
    return held.get("key") == taint.key and (held.get("value") or "") == taint.value


def tolerations_of(held: list[Json]) -> Tolerations:
    tolerations = Tolerations(KEYS)
    tolerations.add(held, ("spec", "tolerations"))
    return tolerations


@given(tolerations(), st.sampled_from(TAINTS))
def test_toleration_admits_to_tainted_node(held: Json, taint: Taint) -> None:
    assert tolerations_of([held]).tolerate(taint) is naive(held, taint)


@given(tolerations(), ours)
def test_toleration_covers_another(held: Json, mine: Toleration) -> None:
    wanted = as_raw(mine)
    for_ever = held.get("tolerationSeconds") is None
    everywhere = all(naive(held, taint) and for_ever for taint in TAINTS if naive(wanted, taint))
    assert tolerations_of([held]).cover(wanted) is everywhere


@given(st.lists(tolerations(), max_size=3))
def test_toleration_of_another_key_is_not_kept(held: list[Json]) -> None:
    tolerations = Tolerations({"gpu"})
    tolerations.add(held, ("spec", "tolerations"))
    for taint in TAINTS:
        if taint.key == "gpu":
            assert tolerations.tolerate(taint) is any(naive(one, taint) for one in held)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"key": ["gpu"]}, "key"),
        ({"key": "gpu", "operator": {}}, "operator"),
        ({"key": "gpu", "value": 5}, "value"),
        ({"key": "gpu", "effect": []}, "effect"),
    ],
)
def test_toleration_member_that_is_not_text_is_malformed(raw: Json, field: str) -> None:
    with pytest.raises(MalformedError) as error:
        tolerations_of([{"key": "gpu"}, raw])
    assert error.value.path == ("spec", "tolerations", 1, field)


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_numeric_operator_covers_none_and_counts_as_met(operator: str) -> None:
    held = {"key": "gpu", "operator": operator, "value": "3", "effect": "NoSchedule"}
    assert not tolerations_of([held]).cover(as_raw(Toleration("gpu")))
    assert not tolerations_of([held]).cover(as_raw(Toleration("gpu", "Equal", "5")))
    assert tolerations_of([held]).tolerate(Taint("gpu", "NoSchedule", "1"))
    assert not tolerations_of([held]).tolerate(Taint("another", "NoSchedule", "5"))
