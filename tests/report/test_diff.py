"""The diff: what edits change, in the YAML that people know."""

from __future__ import annotations

from webhook.report import diff

BEFORE = {"kind": "Pod", "spec": {"containers": [{"name": "c"}]}}
AFTER = {"kind": "Pod", "spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}}


def test_additions_are_marked() -> None:
    assert diff.write("x.yaml Pod c", BEFORE, AFTER).splitlines() == [
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


def test_nothing_is_said_where_nothing_changes() -> None:
    assert diff.write("x", BEFORE, BEFORE) == ""


def test_fields_keep_their_order() -> None:
    assert " zone: z\n+added: 1\n" in diff.write("x", {"zone": "z"}, {"zone": "z", "added": 1})


def test_the_same_part_twice_is_written_out_twice() -> None:
    part = {"a": 1}
    written = diff.write("x", {}, {"one": part, "two": part})
    assert "&" not in written
    assert written.count("+  a: 1\n") == 2


def test_colours_mark_lines_by_what_they_are() -> None:
    written = diff.write("x", {"a": 1}, {"a": 2}, lambda text, colour: f"{colour}|{text}")
    assert written.splitlines()[2:] == ["cyan|@@ -1 +1 @@", "red|-a: 1", "green|+a: 2"]


def test_less_context_where_it_is_asked_for() -> None:
    before = dict.fromkeys("abcdefgh", 1)
    written = diff.write("x", before, {**before, "i": 2}, context=1)
    assert written.splitlines()[3:] == [" h: 1", "+i: 2"]
