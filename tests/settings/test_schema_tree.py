"""The schema tree: what it reads off a dataclass, and the definitions that it rejects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from webhook.policy.settings import setting
from webhook.policy.settings.formats import ANY, Count, Duration, Flag, LabelKey, Range, Seconds
from webhook.settings.schema_tree import (
    MISSING,
    Array,
    DefinitionError,
    Field,
    Map,
    Nullable,
    Object,
    Scalar,
    object_of,
    write,
)


@dataclass(frozen=True)
class Inner:
    """An inner section."""

    per_pod: Count | None = setting(1, "A count.")
    host_ipc: bool = setting(False, "A flag.", key="hostIPC")


@dataclass(frozen=True)
class Outer:
    """An outer section. And more."""

    name: str = field(metadata={"description": "A name."})
    inner: Inner = setting(Inner())
    inners: tuple[Inner, ...] = setting((), "Some sections.")
    times: Mapping[str, Seconds] = setting({"a": 60.0}, "Some times.")


def test_object_of_a_dataclass() -> None:
    outer = object_of(Outer)
    inner = object_of(Inner)
    assert (outer.name, outer.description, outer.build) == ("Outer", "An outer section. And more.", Outer)
    assert inner.fields == (
        Field("perPod", "per_pod", Nullable(Scalar(Range(1))), 1, "A count."),
        Field("hostIPC", "host_ipc", Scalar(Flag()), False, "A flag."),
    )
    assert outer.fields == (
        Field("name", "name", Scalar(ANY), MISSING, "A name."),
        Field("inner", "inner", inner, Inner(), "An inner section."),
        Field("inners", "inners", Array(inner), (), "Some sections."),
        Field("times", "times", Map(Scalar(ANY), Scalar(Duration())), {"a": 60.0}, "Some times."),
    )


def test_write_spells_values_as_a_file() -> None:
    assert write(object_of(Outer), Outer("a", inners=(Inner(None),))) == {
        "name": "a",
        "inner": {"perPod": 1, "hostIPC": False},
        "inners": [{"perPod": None, "hostIPC": False}],
        "times": {"a": "1m"},
    }


WRONG: list[tuple[Any, Any, str]] = [
    (int, setting(1, "A number."), "the type int has no format; write Annotated[int, Range(...)] or alike"),
    (Mapping[str, float], setting({}, "Numbers."), "the type float has no format"),
    (set[str], setting((), "A set."), "the type set has no format"),
    (str | int, setting("a", "Either."), "has no format"),
    (tuple[str, str], setting(("a", "b"), "A pair."), "the type tuple has no format"),
    (Annotated[int, "from 1"], setting(1, "A number."), "the type int has no format"),
    (Count, setting(0, "A number."), "its type does not allow the default 0"),
    (Count, setting(None, "A number."), "its type does not allow the default None"),
    (Count | None, setting(0, "A number."), "its type does not allow the default 0"),
    (bool, setting(1, "A flag."), "its type does not allow the default 1"),
    (Seconds, setting(0.0, "A time."), "its type does not allow the default 0.0"),
    (tuple[LabelKey, ...], setting(("a b",), "Keys."), "its type does not allow the default ('a b',)"),
    (Mapping[LabelKey, Count], setting({"a": 0}, "Counts."), "its type does not allow the default {'a': 0}"),
    (Mapping[LabelKey, Count], setting(("a",), "Counts."), "its type does not allow the default ('a',)"),
    (Inner, setting(None), "its type does not allow the default None"),
    (Inner, setting(Inner(per_pod=0)), "its type does not allow the default Inner(per_pod=0, host_ipc=False)"),
    (str, setting("a", ""), "needs a description, a sentence with its period"),
    (str, setting("a", "no period"), "needs a description"),
    (str, field(default="a"), "needs a description"),
    (str, setting("a", "A text.", shorthand="a"), "no list with the key of the shorthand, 'a'"),
    (Inner | None, setting(None, "A section.", shorthand="perPod"), "no list with the key of the shorthand, 'perPod'"),
]


@pytest.mark.parametrize(("hint", "definition", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_wrong_definition_fails_with_its_field(hint: Any, definition: Any, message: str) -> None:
    cls: Any = dataclass(
        type("Backlog", (), {"__annotations__": {"size": hint}, "__doc__": "A section.", "size": definition})
    )
    with pytest.raises(DefinitionError) as caught:
        object_of(cls)
    assert str(caught.value).startswith("Backlog.size: ")
    assert message in str(caught.value)


def test_definition_error_names_a_nested_field() -> None:
    @dataclass(frozen=True)
    class Broken:
        """A section."""

        size: int = setting(1, "A number.")

    cls: Any = dataclass(type("Outer", (), {"__annotations__": {"broken": Broken}, "broken": setting(Broken())}))
    with pytest.raises(DefinitionError, match=r"Broken\.size: the type int has no format"):
        object_of(cls)


def test_object_finds_fields_by_key() -> None:
    tree: Object = object_of(Inner)
    assert tree.keys == ["perPod", "hostIPC"]
    assert tree.field("hostIPC") is tree.fields[1]
    assert tree.field("hostIpc") is None


Units = Annotated[int, Range(0, 5)]
"""A type whose name another module of the policy's types also has."""


@dataclass(frozen=True)
class Counted:
    """A section."""

    size: Units = setting(1, "A number.")


def test_type_of_own_module_takes_precedence() -> None:
    (only,) = object_of(Counted).fields
    assert only.node == Scalar(Range(0, 5))


def test_definition_error_names_unknown_type() -> None:
    cls: Any = dataclass(type("Backlog", (), {"__annotations__": {"size": "Missing"}, "size": setting(1, "A number.")}))
    with pytest.raises(DefinitionError, match=r"Backlog: no module of the policy's types defines Missing"):
        object_of(cls)
