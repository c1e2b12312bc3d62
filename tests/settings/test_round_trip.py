"""Any file that the dataclasses allow: it loads, its view loads to the same, and the JSON Schemas allow both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, replace
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from webhook.cli.config import commented_yaml
from webhook.diagnostics import InputError
from webhook.dryrun.files import parse
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.formats import Duration, Range, Size, Text
from webhook.policy.settings.settings import Settings
from webhook.report.data import json_text, yaml_text
from webhook.settings.configuration import Configuration, view
from webhook.settings.facts_file import portable, spelled_out
from webhook.settings.load import load, load_facts, load_with_origins
from webhook.settings.members import bare, form_of, is_section, members, words, write
from webhook.settings.schema import facts_schema, schema

SCHEMA = Draft202012Validator(schema())
WRITERS = (yaml_text, json_text)
FACTS_SCHEMA = Draft202012Validator(facts_schema())


def values(hint: Any) -> st.SearchStrategy[Any]:
    if (inner := bare(hint)) is not hint:
        return st.none() | values(inner)
    match form_of(hint):
        case Range(least, most):
            return st.integers(least, most)
        case Duration():
            return st.builds("{}{}".format, st.integers(1, 8760), st.sampled_from(("ms", "s", "m", "h")))
        case Size():
            sized = st.builds("{}{}".format, st.integers(1, 9999), st.sampled_from(("", "k", "Ki", "Mi", "G")))
            return sized | st.integers(1, 10**9)
        case Text(pattern=pattern) as form:
            return st.from_regex(pattern, fullmatch=True).filter(form.allows)
    if choices := words(hint):
        return st.sampled_from(choices)
    if hint is bool:
        return st.booleans()
    if is_section(hint):
        found = members(hint)
        given_ = {key: values(one.hint) for key, one in found.items() if one.default is MISSING}
        open_ = {key: values(one.hint) for key, one in found.items() if one.default is not MISSING}
        return st.fixed_dictionaries(given_, optional=open_)
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=2)
    key, value = get_args(hint)
    return st.dictionaries(values(key), values(value), max_size=2)


def attempt(loader: Callable[..., Any], value: object) -> tuple[Any, list[str]]:
    """What is loaded, or the messages of what is wrong."""
    try:
        return loader(value, lambda _: (1, 1), "file.yaml"), []
    except InputError as error:
        return None, [problem.message for problem in error.diagnostics]


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(values(Configuration))
def test_settings_file_round_trip(file: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(file)
    loaded, messages = attempt(load, file)
    rules = (
        *("in the list already", "needs", "must differ", "must be at most", "must equal", "same pods"),
        *("without this entry", "cannot be printed"),
    )
    assert all(any(rule in message for rule in rules) for message in messages)
    assume(loaded is not None)
    spelled = view(loaded)
    assert SCHEMA.is_valid(spelled)
    again = load(spelled, lambda _: (1, 1), "file.yaml")
    assert again == loaded
    assert view(again) == spelled
    held, origins = load_with_origins(file, lambda _: (1, 1), "file.yaml")
    assert held == loaded
    assert parse("view.yaml", commented_yaml(spelled, origins).encode(), load) == loaded


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(values(Facts))
def test_facts_file_round_trip(file: dict[str, Any]) -> None:
    assert FACTS_SCHEMA.is_valid(file)
    loaded, messages = attempt(load_facts, file)
    assert all("in the list already" in message for message in messages)
    assume(loaded is not None)
    spelled = write(loaded)
    assert FACTS_SCHEMA.is_valid(spelled)
    assert load_facts(spelled, lambda _: (1, 1), "file.yaml") == loaded
    assert load_facts(spelled_out(loaded), lambda _: (1, 1), "file.yaml") == loaded
    kept = portable(loaded, Settings())
    assert all(parse("facts", write_text(spelled_out(kept)).encode(), load_facts) == kept for write_text in WRITERS)
    assert portable(kept, Settings()) == kept
    shuffled = None if loaded.nodes is None else loaded.nodes[::-1]
    assert portable(replace(loaded, nodes=shuffled), Settings()) == kept


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(list(members(Configuration))), anything, max_size=4) | anything)
def test_arbitrary_values_load_or_raise_input_error(value: Any) -> None:
    for loader in (load, load_facts):
        loaded, messages = attempt(loader, value)
        assert (loaded is None) is bool(messages)
