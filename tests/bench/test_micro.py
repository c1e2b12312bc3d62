"""The steps of a review do what their names say, and callgrind counts them."""

from __future__ import annotations

import json

import pytest

from bench import callgrind, micro, steps
from bench.callgrind import CannotCountError
from bench.corpus import KINDS, TWO
from bench.machine import Machine
from bench.results import load
from bench.rounds import Rounds
from bench.steps import SUBJECTS, Subject, answer, bodies
from tests.cluster.harness.interpreters import at_hand

pytestmark = pytest.mark.slow

NAMES = ["decode", "decide", "patch", "proof", "encode", "all"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.title)
def test_steps_together_give_the_whole_answer(subject: Subject) -> None:
    performed = {name: (step, given) for name, step, given in steps.steps(subject, 2)}
    assert list(performed) == NAMES
    answers = {name: [step(one) for one in given] for name, (step, given) in performed.items()}
    assert answers["encode"] == answers["all"]
    assert answers["proof"] == [None, None]
    response = json.loads(answer(bodies(subject, 1)[0], subject.hook).body())["response"]
    assert response["allowed"] is ("denied" not in subject.title)
    sends_patch = "patch" in response
    assert sends_patch is (bool(answers["patch"][0]) and subject.hook.mutates)


@pytest.mark.exhaustive
def test_count_is_the_difference_per_review() -> None:
    try:
        counts = callgrind.count(2, at_hand())
    except CannotCountError as reason:
        pytest.skip(str(reason))
    assert set(counts) == {(subject.title, name) for subject in SUBJECTS for name in NAMES}
    for subject in SUBJECTS:
        whole = counts[subject.title, "all"]
        parts = {name: counts[subject.title, name] for name in NAMES[:-1]}
        assert {name: count for name, count in parts.items() if not 0 < count < whole} == {}


def test_missing_valgrind_skips_the_suite_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(micro, "image", at_hand)
    found = micro.run(Machine.here(), Rounds(1))
    assert found.skipped == {"all steps": "valgrind is not on PATH (package valgrind)"}
    assert "Not counted: valgrind is not on PATH" in micro.section(found)


def test_section_shows_thousands_and_the_spread() -> None:
    rounds = [
        {("one replica", "decode"): count, ("one replica", "all"): 4e5} for count in (50_000.0, 50_500.0, 51_000.0)
    ]
    shown = micro.section(micro.results(Machine.here(), Rounds(3), rounds, "CPython 3.11.7"))
    assert "| one replica | 50.5 | 400 |" in shown
    assert "no figure varies by more than 2.0%" in shown
    assert "They belong to CPython 3.11.7." in shown


def test_committed_figures_are_those_of_the_steps() -> None:
    found = load(micro.NAME)
    assert [(figure.case, figure.subject) for figure in found.figures] == [
        *((subject.title, name) for subject in SUBJECTS for name in NAMES),
        *((f"{kind} {TWO.title}", micro.SERVED) for kind in KINDS),
    ]


def test_foundation_names_what_counts_depend_on() -> None:
    here = callgrind.foundation(at_hand())
    assert [part for part in ("CPython", "libc", "msgspec") if part not in here] == [], here
