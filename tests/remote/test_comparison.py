"""Findings of a server beside those of the local run."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.linear import assert_linear
from webhook.admission import line
from webhook.policy.verdict import Decision, Finding, Severity
from webhook.remote import compare
from webhook.remote.answer import Answer, Reported
from webhook.report.model import Difference

DENY, WARN, AUDIT = Severity.DENY, Severity.WARN, Severity.AUDIT


def own(code: str, severity: Severity, message: str = "a", remedy: str = "b") -> Finding:
    """A finding of the local run."""
    return Finding(code, severity, ("spec", message), message, remedy)


def of_server(*findings: Finding) -> tuple[Reported, ...]:
    """The same findings as a server reports them."""
    return tuple(Reported(one.code, one.severity, None if one.severity is AUDIT else line(one)) for one in findings)


def differences(answers: list[Answer], *local: Finding) -> list[tuple[str, Severity, str, Difference | None]]:
    """The code, severity, message and mark of each finding."""
    return [(one.code, one.severity, one.message, mark) for one, mark in compare(answers, local, {}).findings]


FINDINGS = st.lists(
    st.builds(
        own,
        st.sampled_from(["GPS001", "GPS005", "GPS007"]),
        st.sampled_from([DENY, WARN, AUDIT]),
        st.sampled_from(["a", "b; c"]),
    ),
    max_size=6,
).map(lambda findings: sorted(findings, key=lambda one: one.code))


@given(FINDINGS, st.permutations(range(6)))
def test_same_findings_have_no_difference(local: list[Finding], order: list[int]) -> None:
    denies = any(one.severity is DENY for one in local)
    reported = of_server(*(local[index] for index in order if index < len(local)))
    compared = compare([Answer(not denies, reported)], local, {})
    assert compared.findings == tuple((one, None) for one in local)
    assert compared.decision is max([Decision.ALLOWED, *(Decision(max(0, one.severity - 1)) for one in local)])


@given(FINDINGS, FINDINGS)
def test_no_finding_is_lost(reported: list[Finding], local: list[Finding]) -> None:
    found = compare([Answer(True, of_server(*reported))], local, {}).findings
    by_server = [one for one, mark in found if mark is not Difference.ONLY_LOCAL]
    assert sorted((one.code, one.severity) for one in by_server) == sorted((one.code, one.severity) for one in reported)
    assert len([one for one, mark in found if mark is not Difference.ONLY_SERVER]) == len(local)


def test_each_mark() -> None:
    answer = Answer(False, of_server(own("GPS001", DENY, "x", "y"), own("GPS009", WARN, "z")))
    assert differences([answer], own("GPS001", WARN), own("GPS005", DENY)) == [
        ("GPS001", DENY, "x; y", Difference.CHANGED),
        ("GPS005", AUDIT, "a", Difference.ONLY_LOCAL),
        ("GPS009", WARN, "z", Difference.ONLY_SERVER),
    ]


def test_known_part_splits_line_of_denial() -> None:
    answer = Answer(False, of_server(own("GPS001", DENY, "x; y", "b")))
    ((finding, _),) = compare([answer], [own("GPS001", DENY)], {}).findings
    assert (finding.message, finding.remedy, finding.path) == ("x; y", "b", ("spec", "a"))
    answer = Answer(False, of_server(own("GPS001", DENY, "a", "x; y")))
    ((finding, _),) = compare([answer], [own("GPS001", DENY)], {}).findings
    assert (finding.message, finding.remedy) == ("a", "x; y")


def test_severity_alone_keeps_message_and_remedy() -> None:
    ((finding, mark),) = compare([Answer(True, of_server(own("GPS005", WARN)))], [own("GPS005", DENY)], {}).findings
    assert (finding.message, finding.remedy, mark) == ("a", "b", Difference.CHANGED)


def test_finding_without_line() -> None:
    answer = Answer(True, (Reported("GPS007", AUDIT, None),))
    assert differences([answer]) == [
        ("GPS007", AUDIT, "the server lists this finding without a message", Difference.ONLY_SERVER)
    ]


def test_message_of_validating_hook_for_denial_that_mutating_one_only_lists() -> None:
    first, second = Answer(True, (Reported("GPS001", DENY, None),)), Answer(False, of_server(own("GPS001", DENY)))
    compared = compare([first, second], [own("GPS001", DENY)], {})
    assert (compared.decision, compared.findings) == (Decision.DENIED, ((own("GPS001", DENY), None),))


def test_finding_of_both_hooks_counts_once() -> None:
    answers = [Answer(True, of_server(own("GPS011", WARN, text))) for text in ("the class is injected", "the class")]
    assert compare(answers, [own("GPS011", WARN, "the class is injected")], {}).findings == (
        (own("GPS011", WARN, "the class is injected"), None),
    )


def test_more_findings_of_either_hook_are_counted_once() -> None:
    answers = [Answer(True, (), {"GPS005": 3}), Answer(True, (), {"GPS005": 2, "GPS009": 1})]
    assert compare(answers, [], {}).omitted == {"GPS005": 3, "GPS009": 1}


def test_check_of_command_line_alone_is_no_difference() -> None:
    compared = compare([Answer(True)], [own("GPS023", WARN)], {})
    assert (compared.decision, compared.findings) == (Decision.WARNED, ((own("GPS023", WARN), None),))


def test_time_is_linear() -> None:
    def prepared(size: int) -> Callable[[], object]:
        reported = of_server(*(own("GPS001", DENY, str(number)) for number in range(size)))
        local = [own("GPS001", DENY, str(-number)) for number in range(size)]
        return lambda: compare([Answer(False, reported), Answer(False, reported)], local, {})

    assert_linear(prepared, 100, 100_000)


def test_cause_splits_line_and_names_field() -> None:
    value = {"spec": {"containers": [{"name": "a"}]}}
    path = ("spec", "containers", 0, "env")
    reported = Reported("GPS001", DENY, "GPS001 a; b; c; d", "a; b", path)
    ((finding, _),) = compare([Answer(False, (reported,))], [], value).findings
    assert finding == Finding("GPS001", DENY, ("spec", "containers", 0), "a; b", "c; d")
    ((finding, _),) = compare([Answer(False, (reported,))], [own("GPS001", DENY)], value).findings
    assert finding == Finding("GPS001", DENY, ("spec", "a"), "a; b", "c; d")
