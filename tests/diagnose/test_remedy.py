"""Remedies as text that a shell reads back, and as data."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.diagnose.finding import Remedy, label, named, namespace, reference
from webhook.policy.messages import Command
from webhook.policy.settings.formats import NAMESPACE, OBJECT

EDIT = Command("kubectl", "edit", reference("Deployment", "web"), "-n", namespace("team-a"))
LONGEST = "a" * 253


def test_command_is_text_and_words() -> None:
    assert Remedy("ask for 1: ", EDIT, ", then wait").as_data() == {
        "remedy": "ask for 1: kubectl edit deployment/web -n team-a, then wait",
        "commands": [["kubectl", "edit", "deployment/web", "-n", "team-a"]],
    }


@pytest.mark.parametrize(
    ("word", "doubt"),
    [
        (named("pod", "a;b"), 'no legal pod name: "a;b"'),
        (named("pod", "-f"), 'no legal pod name: "-f"'),
        (named("pod", ".."), 'no legal pod name: ".."'),
        (named("pod", "a\n"), 'no legal pod name: "a?"'),
        (named("pod", ""), 'no legal pod name: ""'),
        (named("pod", "a" * 254), f'no legal pod name: "{"a" * 254}"'),
        (namespace("a.b"), 'no legal namespace name: "a.b"'),
        (namespace("a" * 64), f'no legal namespace name: "{"a" * 64}"'),
        (named("container", "A"), 'no legal container name: "A"'),
        (reference("Job;x", "a"), 'no legal object name: "job;x/a"'),
        (reference("Job", "$(id)"), 'no legal job name: "job/$(id)"'),
        (label("a b", "c"), 'no legal label name: "a b=c"'),
        (label("a", "c\u202e"), 'no legal label name: "a=c?"'),
    ],
)
def test_illegal_name_makes_no_command(word: object, doubt: str) -> None:
    remedy = Remedy("then ", Command("kubectl", "delete", word))  # type: ignore[arg-type]
    assert remedy.as_data() == {"remedy": "then no command, since a name for it is not legal", "commands": []}
    assert remedy.doubts == [doubt]


def test_longest_names_are_not_cut() -> None:
    words = (
        "kubectl",
        "-n",
        namespace("a" * 63),
        "logs",
        reference("K" * 63, LONGEST),
        "-c",
        named("container", "c" * 63),
    )
    first = Command(*words)
    assert shlex.split(str(Remedy(first, ", and ", first)).partition(", and ")[2]) == list(first.words)


@given(st.integers(1, 120), st.lists(st.sampled_from(["web", LONGEST, "a-b.c", "x" * 40]), min_size=1, max_size=5))
def test_command_of_several_lines_is_one_for_a_shell(width: int, names: list[str]) -> None:
    command = Command("kubectl", "get", *(reference("Pod", one) for one in names), "-o", "jsonpath={.x y}")
    *before, last = Remedy("look at the pods, and at all that they say about themselves: ", command).lines(
        "  do:", width, "    "
    )
    lines = [*before, last]
    at = next(index for index, line in enumerate(lines) if "kubectl" in line)
    assert all(line.endswith("\\") for line in lines[at:-1])
    pasted = "\n".join(lines[at:]).replace("\\\n", "").partition("kubectl")
    assert shlex.split(pasted[1] + pasted[2]) == list(command.words)


@given(st.text())
def test_legal_names_need_no_quotes(text: str) -> None:
    for form in (OBJECT, NAMESPACE):
        if form.allows(text):
            assert shlex.quote(text) == text
            assert not text.startswith("-")
