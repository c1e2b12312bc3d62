"""The text of a file with the edits of its objects: what it says, and what of it stays."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.linear import Work, assert_linear
from tests.report.rewriting import expected, mutations, rewritten, splices, values
from tests.strategies.styled import styled
from webhook.report.rewrite import Change, Layout, changes, rewrite

ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
HEAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n"
POD = f"{HEAD}spec:\n  containers:\n  - name: c\n    {GPU}\n"


def edited(text: str) -> str:
    """Return the text with its edits, which the objects in it are proven to have."""
    data = text.encode()
    assert {one.reason for one in rewrite(data, mutations(data))} <= {""}
    after = rewritten(data)
    assert values(after) == expected(data)
    return after.decode()


def test_edits_follow_the_layout_of_the_file() -> None:
    indented = "apiVersion: v1\nkind: Pod\nmetadata:\n    name: p\nspec:\n    containers:\n      - name: c\n        "
    text = f"{indented}resources:\n            limits:\n                nvidia.com/gpu: 1\n"
    assert edited(text) == (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n    name: p\n    annotations:\n        {ANNOTATION}: "
        f"gpushare-mps-nvidia-com-gpu\n{text[text.index('spec') :]}"
        "        env:\n          - name: CUDA_MPS_PIPE_DIRECTORY\n            value: /mps/nvidia.com/gpu/pipe\n"
        "        volumeMounts:\n          - name: gpushare-mps-nvidia-com-gpu\n"
        "            mountPath: /mps/nvidia.com/gpu/pipe\n"
        "    runtimeClassName: nvidia\n"
        "    volumes:\n      - name: gpushare-mps-nvidia-com-gpu\n        hostPath:\n"
        "            path: /run/nvidia/mps/nvidia.com/gpu/pipe\n            type: DirectoryOrCreate\n"
        "    tolerations:\n      - key: nvidia.com/gpu\n        operator: Exists\n        effect: NoSchedule\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    env: []\n", "    env:\n    - name: CUDA"),
        ("    env: []  # none\n", "    env:  # none\n    - name: CUDA"),
        ("    env:   # none\n", "    env:   # none\n    - name: CUDA"),
        ("    env: null\n", "    env:\n    - name: CUDA"),
        ("    env: !!seq []\n", "    env: !!seq\n    - name: CUDA"),
        ("    env: &e\n    - {name: A}\n", "    env: &e\n    - {name: A}\n    - name: CUDA"),
        ("    args:\n    - |\n      a\n\n    # c\n", "      a\n    env:\n"),
        ("    args:\n    - |+\n      a\n\n", "      a\n\n    env:\n"),
        ("    args: [a,\n      b]\n    # args: [c]\n", "    # args: [c]\n    env:\n"),
        ("  # next\n  nodeName: n\n", "    env:\n"),
        ("    ? args\n    : - a\n", "    : - a\n    env:\n"),
        ("    args:\n    # last\n    -\n      a\n", "      a\n    env:\n"),
    ],
)
def test_new_entries_stand_in_the_style_of_the_text(before: str, after: str) -> None:
    text = POD + before
    assert after in edited(text)
    kept = [line for line in before.split("\n") if not re.search(r"\[\]|null|name: A}", line)]
    assert [line for line in edited(text).split("\n") if line in kept] == kept


def test_comments_stay_with_what_they_are_about() -> None:
    text = f"{POD}    # the end of the container\n  # about the policy\n  restartPolicy: Never\n  # the end\n# more\n"
    after = edited(text)
    assert "    # the end of the container\n    env:\n" in after
    assert "mountPath: /mps/nvidia.com/gpu/pipe\n  # about the policy\n  restartPolicy: Never\n  # the end\n" in after
    assert after.endswith("    effect: NoSchedule\n# more\n")


def test_comment_above_the_next_key_stays_above_it() -> None:
    text = POD.replace("spec:\n", "spec:\n  volumes:\n  - name: v\n    # of v\n  # the containers\n")
    after = edited(text)
    assert "  - name: v\n    # of v\n  - name: gpushare-mps-nvidia-com-gpu\n" in after
    assert "      type: DirectoryOrCreate\n  # the containers\n  containers:\n" in after


@pytest.mark.parametrize(
    ("value", "after"),
    [
        (" a", "a,gpushare-mps-nvidia-com-gpu"),
        (" 'a'  # one", "'a,gpushare-mps-nvidia-com-gpu'  # one"),
        (' "a\\x2c\\\n      b"', '"a\\x2c\\\n      b,gpushare-mps-nvidia-com-gpu"'),
        (' ""', "gpushare-mps-nvidia-com-gpu"),
        ("", "gpushare-mps-nvidia-com-gpu"),
    ],
)
def test_names_of_volumes_join_the_annotation(value: str, after: str) -> None:
    text = POD.replace("  name: p\n", f"  name: p\n  annotations:\n    {ANNOTATION}:{value}\n    z: y\n", 1)
    assert f"    {ANNOTATION}: {after}\n    z: y\n" in edited(text)


@pytest.mark.parametrize(("column", "above"), [(0, ""), (4, "r:\n")])
def test_new_block_keeps_every_value(column: int, above: str) -> None:
    inner = {"c": None, "k" * 300: "é", "##[x": "::y", "1": "2", "yes": True, "long": "x " * 300}
    value = {"a": ["x: y", "several\nlines\n\n  z", [], {}, {"b": inner}], "e\nf": 1}
    text = above + "".join(Layout(mapping_indent=3, list_indent=1).block(value, column))
    assert yaml.safe_load(text) == ({"r": value} if above else value)


def test_line_breaks_of_the_file_stay() -> None:
    windows = edited(POD.replace("\n", "\r\n"))
    assert windows == edited(POD).replace("\n", "\r\n")
    mixed = POD.replace("Pod\n", "Pod\r\n")
    assert edited(mixed).replace("\r\n", "\n") == edited(POD)
    assert edited(mixed).count("\r\n") == 1


@pytest.mark.parametrize(
    "ending", ["", "\n  volumes:", "\n  volumes: []", "\n  runtimeClassName:", "\n  x: |\n    text"]
)
def test_missing_final_line_break_stays_missing(ending: str) -> None:
    text = POD.removesuffix("\n") + ending
    assert edited(text) == edited(f"{text}\n").removesuffix("\n")


def test_byte_order_marks_stay() -> None:
    text = f"\ufeff{POD}---\n\ufeff{POD}"
    assert edited(text) == f"\ufeff{edited(POD)}---\n\ufeff{edited(POD)}"


IN_BRACES = f"{HEAD}spec: {{containers: [{{name: c, {GPU}}}]}}\n"
JSON = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c",'
JSON += '"resources":{"limits":{"nvidia.com/gpu":1}}}]}}\n'
QUESTION = 'a key after "?" has no value; write ": null" below it'
BRACKETS = "a mapping or list in braces or brackets cannot be edited"
ALIAS = "a document with an alias cannot be edited"
UNFIT = "its text cannot take the edits"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (f"{POD}    ? env\n", 9, QUESTION),
        (IN_BRACES, 5, BRACKETS),
        (POD.replace("\n  name: p", " {name: p}"), 3, BRACKETS),
        (f"{POD}    env: [{{name: A}}]  # one\n", 9, BRACKETS),
        (f"{POD}    env: [  # none\n    ]\n", 9, BRACKETS),
        (f"{HEAD}spec:\n  containers: [{GPU}]\n", 6, BRACKETS),
        (
            POD.replace("  name: p\n", f"  name: p\n  annotations:\n    {ANNOTATION}: |\n      a\n", 1),
            6,
            "a text on lines of its own cannot be edited",
        ),
        (f"{POD}    env: &env []\n  initContainers:\n  - name: d\n    env: *env\n", 12, ALIAS),
        (f"x: &x {{env: []}}\n{HEAD}spec:\n  containers:\n  - <<: *x\n    name: c\n    {GPU}\n", 8, ALIAS),
        (f"{HEAD}spec:\n  containers:\n  - <<: {{env: []}}\n    name: c\n    {GPU}\n", 1, UNFIT),
        (POD.replace("  name: p\n", f"  name: p\n  annotations:\n    {ANNOTATION}: !!binary YQ==\n", 1), 1, UNFIT),
    ],
)
def test_text_that_cannot_be_edited_is_named(text: str, line: int, reason: str) -> None:
    both = f"{POD}---\n{text}".encode()
    (shown,) = [str(one) for found in rewrite(both, mutations(both)) for one in found.failures("not edited")]
    assert shown.startswith(f"pod.yaml:{POD.count(chr(10)) + 1 + line}:")
    assert shown.endswith(f"Pod p: not edited: {reason}; use -o yaml")
    assert rewritten(both).decode() == f"{edited(POD)}---\n{text}"


@pytest.mark.parametrize("text", [JSON, JSON + JSON, f"{JSON}---\n{POD}"])
def test_file_of_json_is_not_edited(text: str) -> None:
    found = list(rewrite(text.encode(), mutations(text.encode())))
    assert [one.reason for one in found] == ["JSON cannot be edited"] * text.count("Pod")
    assert rewritten(text.encode()) == text.encode()


def test_anchor_without_an_alias_is_edited() -> None:
    assert "    env: &e\n    - name: CUDA" in edited(f"{POD}    env: &e []\n")


LISTED = POD.replace("apiVersion: v1\nkind: Pod\n", "").replace("\n", "\n  ")


def test_items_whose_kind_the_list_implies() -> None:
    text = f"apiVersion: v1\nkind: PodList\nitems:\n- {LISTED}\n- {LISTED}\n"
    after = rewritten(text.encode()).decode()
    assert after.count("runtimeClassName") == 2
    assert after.count("kind") == 1


def test_proof_sees_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*given: Any) -> Any:
        return [*changes(*given), Change(len(given[0].content), len(given[0].content), "more: 1\n")]

    monkeypatch.setattr("webhook.report.rewrite.changes", too_much)
    listed = f"apiVersion: v1\nkind: PodList\nitems:\n- {LISTED}\n"
    for text, lines in ((f"{POD}---\n{POD}", [1, 10]), (listed, [4])):
        found = [one for one in rewrite(text.encode(), mutations(text.encode())) if one.reason == UNFIT]
        assert [one.mutations[0].manifest.line for one in found] == lines
        assert rewritten(text.encode()) == text.encode()


def test_other_documents_stay() -> None:
    text = (
        f"# head\n---\n{POD}...\n---  # two\nkind: [unclosed\n---\napiVersion: v1\nkind: ConfigMap\ndata: {{a: 'b'}}\n"
    )
    start, _, rest = text.partition(POD)
    assert edited(text) == start + edited(POD) + rest


CONTAINERS = st.fixed_dictionaries(
    {"name": st.sampled_from(["c", "main container"]), "resources": st.just({"limits": {"nvidia.com/gpu": 1}})},
    optional={
        "args": st.sampled_from([["a", "b: c"], [], None, ["x # y", "line"]]),
        "env": st.sampled_from([None, [], [{"name": "A", "value": "b"}], [{"name": "A"}, {"name": "B", "value": ""}]]),
        "volumeMounts": st.sampled_from([None, [], [{"name": "v", "mountPath": "/x"}]]),
        "command": st.just(["sh", "-c", "echo hi"]),
    },
)
ANNOTATIONS = st.sampled_from(
    [None, {}, {"a": "b"}, {ANNOTATION: ""}, {ANNOTATION: "x,y"}, {ANNOTATION: None}, {ANNOTATION: "x", "z": "y"}]
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod with edits, whose members have any order."""
    metadata = draw(st.fixed_dictionaries({"name": st.just("p")}, optional={"annotations": ANNOTATIONS}))
    spec = draw(
        st.fixed_dictionaries(
            {"containers": st.lists(CONTAINERS, min_size=1, max_size=1)},
            optional={
                "initContainers": st.just([{"name": "i"}]),
                "volumes": st.sampled_from([None, [], [{"name": "v", "emptyDir": {}}]]),
                "tolerations": st.sampled_from([None, [], [{"key": "k", "operator": "Exists"}]]),
                "runtimeClassName": st.none(),
            },
        )
    )
    order = draw(st.permutations(list(spec)))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {key: spec[key] for key in order}}


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of one or two such pods in any style, or of a list of them."""
    some = draw(st.lists(pods(), min_size=1, max_size=2))
    made = [{"apiVersion": "v1", "kind": "List", "items": some}] if draw(st.integers(0, 4)) == 0 else some
    text = "---\n".join(draw(styled(one)) for one in made)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return ("\ufeff" + text if draw(st.booleans()) else text).encode()


REMOVED = re.compile(rb"[ \t]*(?:null|~|\"\"|''|\[ *\]|\{ *\}|)")


@given(files())
def test_edited_text_says_what_the_patch_says_and_keeps_the_rest(data: bytes) -> None:
    made = mutations(data)
    failed = [one for one in rewrite(data, made) if one.reason]
    assert UNFIT not in {one.reason for one in failed}
    left = {one.mutations[0].manifest.document for one in failed}
    assert values(rewritten(data)) == expected(data, left=left)
    for one in splices(data, made):
        removed = data[one.start : one.end]
        assert REMOVED.fullmatch(removed), removed


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        lambda n: POD + f"    args:\n{'    - x' + chr(10)}" * 1 + "    - y\n" * n,
        lambda n: f"{POD}---\n" * n,
        lambda n: f"{HEAD}spec:\n  containers:\n" + f"  - name: c\n    {GPU}\n" * min(n, 900),
        lambda n: f"{POD}    #{'c' * n}\n" + "    # more\n" * n,
        lambda n: f"{POD}    args: [{'[], ' * n}]\n",
    ],
)
def test_rewriting_time_is_linear(shape: Any) -> None:
    def prepared(size: int) -> Work:
        data = shape(size).encode()
        made = mutations(data)
        return lambda: list(rewrite(data, made))

    assert_linear(prepared, 20, 4_000)
