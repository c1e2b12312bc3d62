"""Fingerprints: what keeps the identity of a finding, and what changes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.reports import DENIAL, WARNING, result
from webhook.report.fingerprint import Fingerprints, value_of
from webhook.report.model import LocatedFinding, Result, Subject, Suppression, Suppressor

FOUND = replace(DENIAL, value="2")
HELD = result("denied", WARNING, FOUND)


def fingerprint(held: Result, found: LocatedFinding) -> str:
    """Return the fingerprint of a finding of a result."""
    return dict(zip(held.findings, Fingerprints().of(held), strict=True))[found]


@pytest.mark.parametrize(
    ("other", "found", "is_same"),
    [
        (HELD, replace(FOUND, line=70, column=30), True),
        (HELD, replace(FOUND, message="reworded", remedy="reworded"), True),
        (HELD._replace(file="./a.yaml"), FOUND, True),
        (HELD._replace(document=9, line=90), FOUND, True),
        (HELD._replace(subject=Subject("v2", "Pod", "team-a", "train")), FOUND, True),
        (HELD._replace(findings=(FOUND,)), FOUND, True),
        (HELD._replace(file="b.yaml"), FOUND, False),
        (HELD._replace(subject=Subject("v1", "Pod", "team-b", "train")), FOUND, False),
        (HELD._replace(subject=Subject("v1", "Pod", "team-atrain", "")), FOUND, False),
        (HELD._replace(subject=Subject("example.com/v1", "Pod", "team-a", "train")), FOUND, False),
        (HELD, replace(FOUND, value="3"), False),
        (HELD, replace(FOUND, code="GPS002"), False),
        (HELD, replace(FOUND, path=("spec", 0)), False),
        (HELD, replace(FOUND, file="p.yaml"), False),
    ],
)
def test_fingerprint_ignores_what_moves(other: Result, found: LocatedFinding, is_same: bool) -> None:
    other = other._replace(findings=tuple(found if one is FOUND else one for one in other.findings))
    assert (fingerprint(other, found) == fingerprint(HELD, FOUND)) is is_same


def test_fingerprints_of_equal_findings_differ() -> None:
    first, second = Fingerprints().of(result("denied", FOUND, FOUND))
    assert first == fingerprint(HELD, FOUND) != second


def test_fingerprints_of_equal_objects_of_one_file_differ() -> None:
    fingerprints = Fingerprints()
    nameless = HELD._replace(subject=Subject("v1", "Pod", "", ""), findings=(FOUND,))
    found = [*fingerprints.of(nameless), *fingerprints.of(nameless._replace(document=3))]
    assert found[0] == fingerprint(nameless, FOUND) != found[1]
    assert [*fingerprints.of(nameless._replace(file="b.yaml")), *fingerprints.of(nameless)][1] == found[0]


def test_suppressed_finding_keeps_its_number() -> None:
    _, second = Fingerprints().of(result("denied", FOUND, FOUND))
    left = result("denied", FOUND)._replace(suppressed=(Suppression("GPS001", Suppressor.BASELINE, FOUND),))
    assert list(Fingerprints().of(left)) == [second]


def test_fingerprint_takes_any_text() -> None:
    hostile = Subject("\ud800/v1", "\0", "a\nb", "x" * 100_000)
    assert len(fingerprint(HELD._replace(subject=hostile, file="\udcff"), FOUND)) == 64


@pytest.mark.parametrize(
    ("value", "text"),
    [("2", "2"), (2, "2"), (True, "true"), (0.5, "0.5"), (None, ""), ([1], ""), ({"a": 1}, ""), ("x" * 40, "x" * 40)],
)
def test_value_as_text(value: object, text: str) -> None:
    assert value_of(value) == text


def test_long_value_becomes_digest() -> None:
    first, second = value_of("x" * 41), value_of("x" * 41 + "y")
    assert first.startswith("sha256:")
    assert first != second
    assert len(first) == len("sha256:") + 16
