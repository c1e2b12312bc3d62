"""Plain block style is read as the composer reads it: the same values, or not at all."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bench.deployments import good
from tests.manifests.test_positions import OBJECTS
from webhook.manifests import blocks
from webhook.manifests.compose import compose
from webhook.manifests.stream import normal, parts
from webhook.manifests.text import SourceText

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests", "examples", "deploy", "certs", "docs", "charts", ".github")


def texts(data: bytes) -> list[str]:
    """The documents of a stream, without those that are not UTF-8."""
    found = [part.data.decode("utf-8", "replace") for part in parts(normal(data))]
    return [text for text in found if "\ufffd" not in text]


def is_read_alike(text: str) -> bool:
    """Assert that a document is read as the composer reads it; return whether it is read without the composer."""
    plain = blocks.read(text)
    if plain is None:
        return False
    composed = compose(SourceText(text))
    assert composed is not None
    value, start = composed
    # JSON tells 1 from 1.0 and from True, and shows the order of keys.
    assert json.dumps(plain[0]) == json.dumps(value)
    assert plain[1] == start
    return True


REPOSITORY = [
    text
    for folder in FOLDERS
    for pattern in ("*.yaml", "*.yml")
    for file in sorted((ROOT / folder).rglob(pattern))
    for text in texts(file.read_bytes())
]

PLAIN = {
    "bench": good(1),
    "list in the column of its key": "a:\n- b: 1\n  c:\n  - d\n  - e: 2\n- f\ng:\n",
    "list in a deeper column": "a:\n    - b: 1\n      c:\n          - d\n    -   f: 1\n        g: 2\n",
    "item on the next line": "a:\n- \n  b: 1\n- # c\n  - d\n- \n",
    "comments and blank lines": "# a\n\n  \na: # b\n    # c\n  b: 1 # d\n# e\n  c: 'x # y'   # f\n\n",
    "quotes": "a: 'b: c'\n\"d/e\": \"'\"\nf: ''\ng: \"\"\nh: 'é'\n",
    "words": "a: yes\nb: ~\nc: null\nd: 012\ne: 1e3\nf: .5\ng: 1_0\nh: 2001-01-01\ni: 1:30\nj: =\nk: Off\n",
    "punctuation": "a: b:c\nd: http://e/#f\ng: h#i\nj: k, [l] {m} & n | o > p * q ! r % s @ t ` u\nv: (w)\nx: --z\n",
    "brackets": 'a: []\nb: {}\nc: [d, "e f", \'g\', -1, yes, {h: [1, 2], "i": 0.5, }, ]\nj: { k: l } # m\n',
    "indented root": "\n  a: 1\n  b:\n    c: 2\n",
    "no line break at the end": "a:\n  b: 1",
    "letters beyond ASCII": "a: äöü 日本 😀\nb: 東京\n# ü\n",
}

LEFT_TO_COMPOSER = {
    "anchor": "a: &x 1\nb: *x\n",
    "tag": "a: !!str 1\n",
    "literal": "a: |\n  b\n",
    "folded": "a: >-\n  b\n",
    "text of two lines": "a: b\n  c\n",
    "quotes of two lines": "a: 'b\n  c'\n",
    "brackets of two lines": "a: [b,\n  c]\n",
    "escape": 'a: "\\n"\n',
    "doubled quote": "a: 'it''s'\n",
    "key twice": "a: 1\nb: 2\na: 3\n",
    "key twice in brackets": "a: {b: 1, b: 2}\n",
    "key that is no text": "yes: 1\n",
    "key that is no text in brackets": "a: {yes: 1}\n",
    "number as key": "1: 1\n",
    "merge": "a: {b: 1}\n<<: {c: 1}\n",
    "question mark": "? a\n: 1\n",
    "tab": "a:\tb\n",
    "list at the root": "- a\n",
    "scalar at the root": "a\n",
    "nothing": "# a\n",
    "less indented than its list": "a:\n  - b: 1\n - c: 2\n",
    "deeper without a key": "a: 1\n  b: 2\n",
    "between two columns": "a:\n    b: 1\n  c: 2\n",
    "item in a mapping": "a: 1\n- b\n",
    "key in a list": "a:\n- b\nc: 1\n  d: 2\n",
    "above the root": "  a: 1\nb: 2\n",
    "infinity": "a: .inf\n",
    "end marker": "a: 1\n...\n",
    "directive": "%YAML 1.1\n",
    "byte order mark inside": "a: 1\n\ufeffb: 2\n",
    "separator of lines in Unicode": "a: b\u2028c\n",
    "colon at the end": "a: b:\n",
    "colon and space in a value": "a: b: c\n",
    "value that starts with an indicator": "a: @b\n",
    "nested too deeply": "".join(" " * level + "a:\n" for level in range(150)),
    "too many brackets": "a: " + "[" * 60 + "]" * 60 + "\n",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_document_is_read(name: str) -> None:
    assert is_read_alike(PLAIN[name])


@pytest.mark.parametrize("name", LEFT_TO_COMPOSER)
def test_other_document_is_left_to_composer(name: str) -> None:
    assert blocks.read(LEFT_TO_COMPOSER[name]) is None


def test_manifests_of_repository_are_read_alike() -> None:
    read = [is_read_alike(text) for text in REPOSITORY]
    assert len(read) > 500
    assert sum(read) > 0.8 * len(read)


KEYS = st.sampled_from(["a", "b", "c", "spec", "nvidia.com/gpu", '"d"', '"e/f"', "yes", "on", "'g'", "1", "<<", "x y"])
SCALARS = st.sampled_from(
    ["1", "-1", "0x1F", "1.0", "1e999", ".inf", "yes", "~", "x", "x y", "x: y", "x #y", "x#y", "a:b", "a:", "-", "--",
     "- x", "---", "...", "'x'", "''", "'x''y'", '"x"', '""', '"\\n"', "'x", '"x', "{}", "[]", "[a, b]", "[a,]",
     "[a b]", "[,]", "{a: 1}", "{a: 1, a: 2}", "{a: 1, b: [c, {d: e}]}", "{a}", "{a: }", "[a: 1]", "[[", "{a:1}",
     "[a:b, c:]", '["a":1]', '{"a":1}', '{"a": "b"}', "&x 1", "*x", "!!str 1", "|", ">-", "|2", "@x", "%x", "=",
     "é", "\u00a0", "\u2028", "\ufeff", "\t", "x\t", "🙂", "$(X)", "<x>", "012", "1_0", "0b1", "[é]", "[$(X)]", "[-]"]
)  # fmt: skip
INDENTS = st.sampled_from(["", "", " ", "  ", "  ", "   ", "    ", "      ", "\t"])
DASHES = st.sampled_from(["", "", "", "- ", "- ", "-  ", "-   ", "- - ", "-", "? "])
TAILS = st.sampled_from(["", "", "", "", " ", "  # c", " #", "# c", "#"])
VALUES = st.builds("{}{}".format, SCALARS, TAILS)
ENTRIES = st.builds(
    "{}{}{}".format,
    INDENTS,
    DASHES,
    st.builds("{}:{}{}".format, KEYS, st.sampled_from([" ", " ", " ", "", "  "]), VALUES)
    | st.builds("{}:{}".format, KEYS, TAILS)
    | VALUES
    | TAILS,
)


@given(st.lists(ENTRIES, max_size=8).map("\n".join))
def test_any_lines_are_read_alike(text: str) -> None:
    is_read_alike(text)


@given(OBJECTS, st.sampled_from([None, "'"]), st.sampled_from([None, False, True]), st.integers(2, 6))
def test_dumped_objects_are_read_alike(
    value: dict[str, object], quotes: str | None, flow: bool | None, indent: int
) -> None:
    is_read_alike(
        yaml.safe_dump(
            value, default_style=quotes, default_flow_style=flow, indent=indent, allow_unicode=True, width=10**6
        )
    )


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A manifest of the repository with a few lines changed."""
    lines = draw(st.sampled_from(REPOSITORY)).split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = draw(st.integers(0, len(line)))
        lines[at : at + 1] = draw(
            st.sampled_from([[], [line, line], [" " + line], [line[1:]], [line[:cut]], [line[:cut], line[cut:]]])
            | st.builds(lambda new, line=line: [line, new], ENTRIES)
            | st.builds(lambda new, line=line, cut=cut: [line[:cut] + new + line[cut:]], SCALARS)
        )
        lines = lines or [""]
    return "\n".join(lines)


@given(mutated())
def test_mutated_manifests_are_read_alike(text: str) -> None:
    is_read_alike(text)


@pytest.mark.parametrize("line", ["# c\n", "\n"], ids=["comments", "blank lines"])
def test_memory_for_short_lines(line: str) -> None:
    content = line * (1024 * 1024 // len(line)) + "a: 1\n"
    tracemalloc.start()
    try:
        assert blocks.read(content) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The lines of one block take several times their text, and a copy of the text shows that all is printable.
    assert peak < 4 * len(content)


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\n  "])
def test_lines_at_edges_of_blocks(ending: str) -> None:
    """Long lines, so that blocks of lines end at each of the places around the last line break."""
    for length in range(65_530, 65_542):
        for text in (f"a: {'x' * length}{ending}", f"a: 1\n#{'x' * length}\nb: 2{ending}", f"#{'x' * length}\na: 1\n"):
            assert is_read_alike(text)
