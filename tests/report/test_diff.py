"""The diff of the YAML before and after edits."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.linear import Work, assert_linear
from webhook.report import yaml_diff
from webhook.report.data import yaml_text

BEFORE = {"kind": "Pod", "spec": {"containers": [{"name": "c"}]}}
AFTER = {"kind": "Pod", "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}}


def test_diff_marks_additions() -> None:
    assert yaml_diff.write("x.yaml Pod c", BEFORE, AFTER).splitlines() == [
        "--- x.yaml Pod c",
        "+++ x.yaml Pod c with edits",
        "@@ -2,3 +2,6 @@",
        " spec:",
        "   containers:",
        "   - name: c",
        "+    env:",
        "+    - name: A",
        "+      value: '1'",
    ]


def test_diff_of_equal_objects_is_empty() -> None:
    assert yaml_diff.write("x", BEFORE, BEFORE) == ""


def test_diff_keeps_field_order() -> None:
    assert " zone: z\n+added: 1\n" in yaml_diff.write("x", {"zone": "z"}, {"zone": "z", "added": 1})


def test_diff_has_no_aliases() -> None:
    part = {"a": 1}
    written = yaml_diff.write("x", {}, {"one": part, "two": part})
    assert "&" not in written
    assert written.count("+  a: 1\n") == 2


def test_diff_colours() -> None:
    written = yaml_diff.write("x", {"a": 1}, {"a": 2}, lambda text, colour: f"{colour}|{text}")
    assert written.splitlines()[2:] == ["cyan|@@ -1 +1 @@", "red|-a: 1", "green|+a: 2"]


def test_diff_context_lines() -> None:
    before = dict.fromkeys("abcdefgh", 1)
    written = yaml_diff.write("x", before, {**before, "i": 2}, context=1)
    assert written.splitlines()[3:] == [" h: 1", "+i: 2"]


KEYS = st.sampled_from(["a", "b", "c", "d e", "1", "-"])
VALUES = st.recursive(
    st.sampled_from([None, 1, "", "x", "x: y", "many words", "two\nlines\n"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def grown(draw: st.DrawFn, value: Any) -> Any:
    """The value with additions at any depth, and now and then another value in its place."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        kept = {key: draw(grown(one)) for key, one in value.items()}
        return {
            **kept,
            **{key: one for key, one in draw(st.dictionaries(KEYS, VALUES, max_size=1)).items() if key not in kept},
        }
    if isinstance(value, list):
        return [*(draw(grown(one)) for one in value), *draw(st.lists(VALUES, max_size=1))]
    return value


@given(st.data())
def test_diff_turns_one_yaml_into_the_other(data: st.DataObject) -> None:
    before = data.draw(VALUES)
    after = data.draw(grown(before))
    written = yaml_diff.write("x", before, after, context=10**6).splitlines()[3:]
    if not written:
        assert before == after
        return
    assert "".join(f"{line[1:]}\n" for line in written if line[0] != "+") == yaml_text(before)
    assert "".join(f"{line[1:]}\n" for line in written if line[0] != "-") == yaml_text(after)


@given(st.lists(st.integers(0, 30), max_size=6, unique=True), st.integers(0, 4))
def test_hunks_equal_difflib(new: list[int], context: int) -> None:
    # Each line is another one, so that there is one shortest diff.
    before = [{f"k{index}": index} for index in range(31)]
    after = [{**one, f"new{index}": 1} if index in new else one for index, one in enumerate(before)]
    one, other = (yaml_text(value).splitlines() for value in (before, after))
    expected = list(unified_diff(one, other, "x", "x with edits", lineterm="", n=context))
    assert yaml_diff.write("x", before, after, context=context).splitlines() == expected


def test_diff_time_is_linear() -> None:
    def prepared(size: int) -> Work:
        # Lines that come back often, but not so often that difflib would take them for noise.
        spec = {"containers": [{"args": [str(index % 101) for index in range(size)]}]}
        before = {"metadata": {"name": "x"}, "spec": spec}
        after = {"metadata": {"name": "x", "annotations": {}}, "spec": {**spec, "volumes": []}}
        return lambda: yaml_diff.write("x", before, after)

    assert_linear(prepared, 8_000, 16_000)
