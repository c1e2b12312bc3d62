"""The report for GitHub."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.reports import DENIAL, MISSING, NOTE, UNREADABLE, WARNING, result, written
from webhook.diagnostics import Unread
from webhook.report.check.github import GithubWriter
from webhook.report.model import Entry, Evidence, Place, Read, Refused
from webhook.report.tally import FailOn, Tally
from webhook.report.writer import Page, SourceTree

TREE = SourceTree("/repo", "/repo/sub")


def test_github_annotations() -> None:
    entries: list[Entry] = [result("denied", DENIAL, WARNING, NOTE), UNREADABLE, MISSING, Unread("v.yaml", "values")]
    assert written(GithubWriter(Page(tree=TREE)), entries).splitlines() == [
        "::error file=sub/a.yaml,line=7,col=3,title=GPS001::too many (Pod team-a/train); ask for 1",
        "::warning file=sub/a.yaml,line=1,col=1,title=GPS005::hides it (Pod team-a/train); leave it out",
        "::notice file=sub/a.yaml,line=7,col=3,title=GPS011::no grace (Pod team-a/train); give some",
        "::error file=sub/b.yaml,line=3,col=5,title=cannot be read::not YAML",
        "::error file=sub/c.yaml,title=cannot be read::no such file or folder",
        "::notice title=gpushare-webhook::1 object: 1 denied; 2 errors; 1 file not read (1 values)",
    ]


@pytest.mark.parametrize("fail_on", FailOn)
def test_github_names_what_is_unread_where_it_fails_the_run(fail_on: FailOn) -> None:
    entries: list[Entry] = [
        Unread("c/", "part of a Helm chart", may_hide=True),
        Unread("k/", "a kustomization that is not built", may_hide=True, instead="kubectl kustomize k | check -"),
        Unread("v.yaml", "values"),
    ]
    *found, _ = written(GithubWriter(Page(tree=TREE, fail_on=fail_on)), entries).splitlines()
    chart, kustomization = (
        "::error file=sub/c,title=not read::part of a Helm chart",
        "::error file=sub/k,title=not read::a kustomization that is not built; "
        "check it with: kubectl kustomize k | check -",
    )
    assert found == ([chart, kustomization] if fail_on in (FailOn.UNREAD, FailOn.SKIPPED) else [])


def test_github_summary_names_hidden_annotations() -> None:
    entries = [result("denied", DENIAL, WARNING)] * 11
    last = written(GithubWriter(Page()), entries).splitlines()[-1]
    assert last.endswith("11 objects: 11 denied; GitHub shows the first 10 errors and the first 10 warnings of a step")
    assert "GitHub" not in written(GithubWriter(Page()), entries[:10])


def test_github_says_what_is_read_as_facts() -> None:
    read = Read("nodes", "1 node", (Place("a%\nb.yaml", 3),), 1)
    evidence = Evidence((read,), (Refused("runtimeClasses", "two of one name differ"),))
    facts, refused, last = GithubWriter(Page()).end(Tally(evidence=evidence)).splitlines()
    assert facts == "::notice title=gpushare-webhook::facts from inputs: 1 node (a%25?b.yaml:3)"
    assert refused == "::notice title=gpushare-webhook::not read as facts: runtimeClasses: two of one name differ"
    assert last.startswith("::notice title=gpushare-webhook::0 objects")


def test_github_escapes() -> None:
    finding = replace(DENIAL, message="100%0A::error::\r\n x", remedy="a,b:c")
    odd = result("denied", finding)._replace(file="50%, a:b\n.yaml")
    first = written(GithubWriter(Page()), [odd]).splitlines()[0]
    assert first == (
        "::error file=50%25%2C a%3Ab?.yaml,line=7,col=3,title=GPS001::100%250A::error::?? x (Pod team-a/train); a,b:c"
    )
