"""Reading shell scripts: words, what is certain to run, and linear work."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear import assert_linear
from webhook.policy.launchers.shell import commands

WORDS = {
    "quotes join to one word": ("""a'b c'"d e"f""", [["ab cd ef"]]),
    "escapes": (r"""a\ b "c\"d\$e\\f" 'g\h' """, [["a b", 'c"d$e\\f', "g\\h"]]),
    "empty words": ("""a '' "" """, [["a", "", ""]]),
    "lists and pipelines": ("a 1; b 2 && c 3 | d 4 & e 5\nf 6", [[x, str(n)] for n, x in enumerate("abcdef", 1)]),
    "continued lines": ("a \\\n  b\\\nc \\\n\\\n d", [["a", "bc", "d"]]),
    "returns before line ends": ("a b\r\nc\r\n", [["a", "b"], ["c"]]),
    "continued line in quotes": ('"a\\\nb"', [["ab"]]),
    "comments": ("# one 'two\na b#c # three\n#", [["a", "b#c"]]),
    "comment sign after quotes": ("''#a 'b'#c", [["#a", "b#c"]]),
    "redirections": ("a > b 2>&1 c 2>/dev/null <in >>out d &>all", [["a", "c", "d"]]),
    "digits that are no descriptor": ("a 2 >b", [["a", "2"]]),
    "here-string": ("a <<< b c", [["a", "c"]]),
    "here-document": ("a <<END b\nc d\nEND\ne", [["a", "b"], ["e"]]),
    "indented here-document": ("a <<-'END'\n\tc d\n\tEND\ne", [["a"], ["e"]]),
    "two here-documents": ("a <<X <<Y\n1\nX\n2\nY\nb", [["a"], ["b"]]),
    "here-document without an end": ("a <<X\nb c\n", [["a"]]),
    "variables": ('a $B "$C" ${D:-1 2} $(e f) `g h` "$(i "j k") l"', [["a", "$B", "$C", "$", "$", "$", "$ l"]]),
    "backquotes in quotes": ('a "b `c d` e"', [["a", "b $ e"]]),
    "arithmetic": ("a $((1 + (2))) b", [["a", "$", "b"]]),
    "quoted parenthesis in a substitution": ("""a $(b ')' "c)" \\) ) d""", [["a", "$", "d"]]),
    "process substitution": ("a <(b c) >(d e)", [["a", "$", "$"]]),
    "subshell": ("(a b; c)", [["a", "b"], ["c"]]),
    "group": ("{ a b; }; c", [["a", "b"], ["c"]]),
    "loops": ("until a; do b; done; while ! c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
    "branches of if": ("if a; then b; else c; fi; d", [["d"]]),
    "nested branches": ("if a; then if b; then c; fi; d; fi; e", [["e"]]),
    "branches of case": ("case $1 in\n x) a b;;\n *) c;;\nesac\nd", [["d"]]),
    "after or": ("a || b && c; d || \n e\nf", [["a"], ["d"], ["f"]]),
    "after a test": (
        "test a && b c; [[ d ]] && e\n[ f ] && g & h",
        [["test", "a"], ["[[", "d", "]]"], ["[", "f", "]"], ["h"]],
    ),
    "unterminated single quote": ("a b; c 'd", [["a", "b"]]),
    "unterminated double quote": ('a b; c "d', [["a", "b"]]),
    "unterminated quote with substitution": ('a b; c "$(d) e', [["a", "b"]]),
    "unterminated substitution": ("a b; c $(d", [["a", "b"]]),
    "unterminated substitution in quotes": ('a b; c "$(d', [["a", "b"]]),
    "lone backslash": ("a b; c \\", [["a", "b"]]),
    "lone backquote": ("a b; c ` d", [["a", "b"]]),
    "lone backquote in quotes": ('a b; c "` d', [["a", "b"]]),
    "other space": ("a\x0bb", []),
    "nothing": ("", []),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_of_certain_commands(name: str) -> None:
    script, expected = WORDS[name]
    assert commands(script) == expected


simple = st.text(st.sampled_from("ab1-=/._:,") | st.just(" "), max_size=20)
quoted = simple.map(lambda text: f"'{text}'") | simple.map(lambda text: f'"{text}"')
escaped = st.sampled_from(["\\ ", "\\'", '\\"', "\\\\"])


@given(st.lists(simple | quoted | escaped, max_size=12).map("".join))
def test_simple_words_read_as_by_shlex(text: str) -> None:
    assert [word for command in commands(f"a {text}") for word in command] == shlex.split(f"a {text}")


HOSTILE = ["a ", "'a'", '"a" ', '"$(a)" ', "a;", "$(a)", '"\\""', "<<a\n", "(", "`", '"`', "$(", "$((", "a#", "if a;"]
HOSTILE += ["'", '"', "\\\n", "2>", '"$(', "\\", "#", "${", "<(", "&&", "\n", "a\n", "[ a ]&&", "'a'b", "$"]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=60).map("".join))
def test_any_script_is_read(script: str) -> None:
    for command in commands(script):
        assert command
        assert all(isinstance(word, str) for word in command)


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_work_is_linear(unit: str) -> None:
    assert_linear(lambda size: lambda: commands(unit * size), 64, 2048)


def test_tokens_are_limited() -> None:
    assert len(commands("a;" * 100_000)) <= 2048
