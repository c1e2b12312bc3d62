"""A configuration as an object, and back."""

from __future__ import annotations

from webhook.policy.sharing.context import API_VERSION, as_object, of_object


def test_object_holds_the_configuration_and_the_name_of_its_holder() -> None:
    value = {"version": "v1", "sharing": {"mps": None}}
    held = as_object(value, "team", "configs/mps")
    assert (held["apiVersion"], held["metadata"]) == (API_VERSION, {"namespace": "team", "name": "configs/mps"})
    assert of_object(held) == value
