"""Any file that the shapes allow: it loads, its view loads to the same, and the schemas allow both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from webhook.diagnostics import InputError
from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import DOCUMENT, not_in_force, view
from webhook.settings.forms import Choice, Flag, Form, Text, Whole
from webhook.settings.reading import load, load_facts
from webhook.settings.schema import facts_schema, schema
from webhook.settings.shape import MISSING, Leaf, Listing, Nullable, Section, Shape, Table, section, write
from webhook.settings.units import Duration, DurationText, Size

SCHEMA = Draft202012Validator(schema())
FACTS_SCHEMA = Draft202012Validator(facts_schema())


def allowed(form: Form, value: object) -> bool:
    try:
        form.read(value)
    except ValueError:
        return False
    return True


def leaf(form: Form) -> st.SearchStrategy[Any]:
    match form:
        case Choice(words):
            return st.sampled_from(words)
        case Flag():
            return st.booleans()
        case Whole(least, most):
            return st.integers(least, most)
        case Duration() | DurationText():
            return st.builds("{}{}".format, st.integers(1, 8760), st.sampled_from(("ms", "s", "m", "h")))
        case Size():
            sized = st.builds("{}{}".format, st.integers(1, 9999), st.sampled_from(("", "k", "Ki", "Mi", "G")))
            return sized | st.integers(1, 10**9)
        case Text(pattern=pattern):
            return st.from_regex(pattern, fullmatch=True).filter(lambda text: allowed(form, text))
    raise TypeError(form)


def values(shape: Shape) -> st.SearchStrategy[Any]:
    match shape:
        case Leaf(form):
            return leaf(form)
        case Nullable(inner):
            return st.none() | values(inner)
        case Listing(element):
            return st.lists(values(element), max_size=2)
        case Table(key, value):
            return st.dictionaries(leaf(key), values(value), max_size=2)
        case Section(members=members):
            given_ = {member.key: values(member.shape) for member in members if member.default is MISSING}
            open_ = {member.key: values(member.shape) for member in members if member.default is not MISSING}
            return st.fixed_dictionaries(given_, optional=open_)


def attempt(loader: Callable[..., Any], value: object) -> tuple[Any, list[str]]:
    """What is loaded, or the messages of what is wrong."""
    try:
        return loader(value, lambda _: (1, 1), "file.yaml"), []
    except InputError as error:
        return None, [problem.message for problem in error.diagnostics]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(values(DOCUMENT))
def test_a_settings_file_survives_its_view(file: dict[str, Any]) -> None:
    assert SCHEMA.is_valid(file)
    loaded, messages = attempt(load, file)
    rules = (
        "there already",
        "only goes with",
        "needs",
        "must differ",
        "must be at most",
        "same pods",
        "checked already",
    )
    assert all(any(rule in message for rule in rules) for message in messages)
    assume(loaded is not None)
    spelled = view(loaded)
    assert SCHEMA.is_valid(spelled)
    again = load(spelled, lambda _: (1, 1), "file.yaml")
    assert again == loaded
    assert view(again) == spelled
    assert not_in_force(again) == not_in_force(loaded)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(values(section(Facts)))
def test_a_facts_file_survives_being_written(file: dict[str, Any]) -> None:
    assert FACTS_SCHEMA.is_valid(file)
    loaded, messages = attempt(load_facts, file)
    assert all("there already" in message for message in messages)
    assume(loaded is not None)
    spelled = write(section(Facts), loaded)
    assert FACTS_SCHEMA.is_valid(spelled)
    assert load_facts(spelled, lambda _: (1, 1), "file.yaml") == loaded


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([member.key for member in DOCUMENT.members]), anything, max_size=4) | anything)
def test_rubbish_is_refused_with_settings_error_or_read(value: Any) -> None:
    for loader in (load, load_facts):
        loaded, messages = attempt(loader, value)
        assert (loaded is None) is bool(messages)
