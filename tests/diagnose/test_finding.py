"""A finding of `why` and `doctor`, as data and as text."""

from __future__ import annotations

from webhook.diagnose.finding import Finding, Remedy, named
from webhook.policy.messages import Command

LONG = Finding("any", "error", "pod a", "x" * 2000, ["", "first", *["y" * 2000] * 20], "add it", ("team-a",))


def test_texts_are_bounded_and_empty_evidence_is_left_out() -> None:
    data = LONG.as_data()
    assert {len(data["cause"]), *map(len, data["evidence"][1:])} == {1024}
    assert (data["evidence"][0], len(data["evidence"])) == ("first", 12)


def test_illegal_names_of_the_remedy_follow_the_evidence() -> None:
    remedy = Remedy("look: ", Command("kubectl", "describe", "node", named("node", "$(reboot)")))
    found = Finding("any", "error", "pod a", "it waits", ["first"], remedy)
    assert found.as_data()["evidence"] == ["first", 'no legal node name: "$(reboot)"']
    assert found.as_data()["commands"] == []


def test_name_follows_the_cause_or_is_part_of_a_line_about_the_status() -> None:
    found = Finding("any", "warning", "pod a", "it\nwaits", ["::first"], "add it")
    assert list(found.lines("pod a:", None)) == ["pod a: it?waits (any)", "  - ?:first", "  do: add it"]
    assert list(found.lines("1 pod a ", None, status="warning: any")) == [
        "1 pod a  it?waits",
        "  warning: any",
        "  - ?:first",
        "  do: add it",
    ]


def test_finding_that_tenants_may_have_forged_is_a_warning() -> None:
    assert LONG.marked({"team-a"}) is LONG
    assert (LONG.marked({"gpu"}).severity, LONG.marked({"gpu"}).is_of_tenants) == ("warning", True)
