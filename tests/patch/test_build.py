"""The builder against a naive application of the same edits, and against `jsonpatch`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from webhook.patch import build, verify
from webhook.policy.verdict import Append, Assign, Edit, Extend, Path

Json = dict[str, Any]

LISTS: list[Path] = [
    ("spec", "tolerations"),
    ("spec", "containers", 0, "env"),
    ("spec", "containers", 1, "env"),
    ("spec", "affinity", "required", "terms"),
    ("metadata", "a~/b", "list"),
]
MEMBERS: list[Path] = [("spec", "runtimeClassName"), ("metadata", "x~1y"), ("spec", "containers", 0, "new", "deep")]
TEXTS: list[Path] = [("metadata", "annotations", "example.com/volumes"), ("metadata", "annotations", "~")]

values = st.sampled_from(["v", {"name": "n"}, 1, True])
edits: st.SearchStrategy[list[Edit]] = st.lists(
    st.one_of(
        st.builds(Append, st.sampled_from(LISTS), values),
        st.builds(Assign, st.sampled_from(MEMBERS), values),
        st.builds(Extend, st.sampled_from(TEXTS), st.sampled_from(["a", "b", "c"])),
    ),
    max_size=8,
)


def maybe(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A member that may be null."""
    return inner | st.none()


some = st.lists(values, max_size=2)
containers = st.lists(st.fixed_dictionaries({}, optional={"env": maybe(some)}), min_size=2, max_size=3)
documents: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": containers},
            optional={
                "tolerations": maybe(some),
                "affinity": maybe(
                    st.fixed_dictionaries(
                        {}, optional={"required": maybe(st.fixed_dictionaries({}, optional={"terms": maybe(some)}))}
                    )
                ),
                "runtimeClassName": st.none(),
            },
        )
    },
    optional={
        "metadata": maybe(
            st.fixed_dictionaries(
                {},
                optional={
                    "annotations": maybe(
                        st.dictionaries(st.sampled_from([TEXTS[0][2], "~", "o"]), maybe(st.sampled_from(["", "there"])))
                    ),
                    "a~/b": maybe(st.fixed_dictionaries({}, optional={"list": maybe(some)})),
                },
            )
        )
    },
)


def naive(document: Json, wanted: list[Edit]) -> Json:
    """The edits, one after the other, on a copy."""
    edited = deepcopy(document)
    for edit in wanted:
        node: Any = edited
        for step in edit.path[:-1]:
            if isinstance(node, dict) and node.get(str(step)) is None:
                node[step] = {}
            node = node[step]
        last = edit.path[-1]
        if isinstance(edit, Append):
            node[last] = [*(node.get(last) or []), deepcopy(edit.value)]
        elif isinstance(edit, Extend):
            node[last] = f"{node[last]},{edit.value}" if node.get(last) else edit.value
        else:
            node[last] = deepcopy(edit.value)
    return edited


def once(wanted: list[Edit]) -> list[Edit]:
    """The edits without a second assignment to a place: the engine makes none."""
    assigned = {edit.path: edit for edit in reversed(wanted) if isinstance(edit, Assign)}
    return [edit for edit in wanted if not isinstance(edit, Assign) or assigned[edit.path] is edit]


@given(documents, edits)
def test_operations_apply_edits(document: Json, wanted: list[Edit]) -> None:
    wanted = once(wanted)
    received = deepcopy(document)
    operations = build(document, wanted)
    assert document == received
    assert jsonpatch.apply_patch(document, operations) == naive(document, wanted)


@given(documents, edits)
def test_operations_pass_proof(document: Json, wanted: list[Edit]) -> None:
    assert verify(document, build(document, once(wanted))) is None


@given(documents, edits)
def test_operations_are_minimal(document: Json, wanted: list[Edit]) -> None:
    wanted = once(wanted)
    appended = sum(isinstance(edit, Append) for edit in wanted)
    others = len({edit.path for edit in wanted if not isinstance(edit, Append)})
    assert len(build(document, wanted)) <= appended + others


def test_nested_missing_parents_merge() -> None:
    wanted: list[Edit] = [Append(("spec", "a", "b"), 1), Append(("spec", "c", "d"), 2), Extend(("spec", "c", "e"), "x")]
    wanted.append(Extend(("spec", "c", "e"), "y"))
    made = {"a": {"b": [1]}, "c": {"d": [2], "e": "x,y"}}
    assert build({"spec": None}, wanted) == [{"op": "add", "path": "/spec", "value": made}]


def test_operations_keep_edit_order() -> None:
    document: Json = {"l": [], "t": "x"}
    wanted: list[Edit] = [Append(("l",), 1), Extend(("t",), "a"), Assign(("m",), 2)]
    wanted += [Append(("l",), 3), Extend(("t",), "b")]
    assert build(document, wanted) == [
        {"op": "add", "path": "/l/-", "value": 1},
        {"op": "add", "path": "/t", "value": "x,a,b"},
        {"op": "add", "path": "/m", "value": 2},
        {"op": "add", "path": "/l/-", "value": 3},
    ]
