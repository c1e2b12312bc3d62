"""Any file that the schema trees allow: it loads, its view loads to the same, and the JSON Schemas allow both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from webhook.diagnostics import InputError
from webhook.dryrun.files import parse
from webhook.policy.settings.formats import Choice, Duration, Flag, Format, Range, Size, Text
from webhook.policy.settings.settings import Settings
from webhook.report.data import json_text, yaml_text
from webhook.report.settings import YamlComments, commented_yaml
from webhook.settings.configuration import SETTINGS_FILE, view
from webhook.settings.facts_file import FACTS_FILE, portable, spelled_out
from webhook.settings.load import load, load_facts, load_with_origins
from webhook.settings.schema import facts_schema, schema
from webhook.settings.schema_tree import MISSING, Array, Map, Node, Nullable, Object, Scalar, write

SCHEMA = Draft202012Validator(schema())
WRITERS = (yaml_text, json_text)
FACTS_SCHEMA = Draft202012Validator(facts_schema())


def scalar(form: Format) -> st.SearchStrategy[Any]:
    match form:
        case Choice(words):
            return st.sampled_from(words)
        case Flag(""):
            return st.booleans()
        case Flag(word):
            return st.sampled_from([True, False, word])
        case Range(least, most):
            return st.integers(least, most)
        case Duration():
            return st.builds("{}{}".format, st.integers(1, 8760), st.sampled_from(("ms", "s", "m", "h")))
        case Size():
            sized = st.builds("{}{}".format, st.integers(1, 9999), st.sampled_from(("", "k", "Ki", "Mi", "G")))
            return sized | st.integers(1, 10**9)
        case Text(pattern=pattern):
            return st.from_regex(pattern, fullmatch=True).filter(form.allows)
    raise TypeError(form)


def values(node: Node) -> st.SearchStrategy[Any]:
    match node:
        case Scalar(form):
            return scalar(form)
        case Nullable(inner):
            return st.none() | values(inner)
        case Array(element):
            return st.lists(values(element), max_size=2)
        case Map(key, value):
            return st.dictionaries(values(key), values(value), max_size=2)
        case Object(fields=fields):
            given_ = {field.key: values(field.node) for field in fields if field.default is MISSING}
            open_ = {field.key: values(field.node) for field in fields if field.default is not MISSING}
            return st.fixed_dictionaries(given_, optional=open_)


def attempt(loader: Callable[..., Any], value: object) -> tuple[Any, list[str]]:
    """What is loaded, or the messages of what is wrong."""
    try:
        return loader(value, lambda _: (1, 1), "file.yaml"), []
    except InputError as error:
        return None, [problem.message for problem in error.diagnostics]


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(values(SETTINGS_FILE))
def test_settings_file_round_trip(file: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(file)
    loaded, messages = attempt(load, file)
    rules = (
        "in the list already",
        "needs",
        "must differ",
        "must be at most",
        "must equal",
        "same pods",
        "without this entry",
        "cannot be printed",
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
    assert parse("view.yaml", commented_yaml(spelled, YamlComments(origins, {})).encode(), load) == loaded


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(values(FACTS_FILE))
def test_facts_file_round_trip(file: dict[str, Any]) -> None:
    assert FACTS_SCHEMA.is_valid(file)
    loaded, messages = attempt(load_facts, file)
    assert all("in the list already" in message for message in messages)
    assume(loaded is not None)
    spelled = write(FACTS_FILE, loaded)
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
@given(st.dictionaries(st.sampled_from(SETTINGS_FILE.keys), anything, max_size=4) | anything)
def test_arbitrary_values_load_or_raise_input_error(value: Any) -> None:
    for loader in (load, load_facts):
        loaded, messages = attempt(loader, value)
        assert (loaded is None) is bool(messages)
