"""The reports as YAML, for GitHub and GitLab, and as names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from tests.report.reports import DENIAL, MISSING, NOTE, PATCH, UNREADABLE, WARNING, json_of, result, written
from webhook.diagnostics import Unread
from webhook.report.check.github import GithubWriter
from webhook.report.check.gitlab import GitlabWriter
from webhook.report.check.name import NameWriter
from webhook.report.check.yaml import YamlWriter
from webhook.report.evidence import Evidence, Place, Read, Refused
from webhook.report.model import Entry, Subject
from webhook.report.tally import FailOn, Tally
from webhook.report.writer import Page, SourceTree

TREE = SourceTree("/repo", "/repo/sub")


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [UNREADABLE, Unread("v.yaml", "values")],
        [
            result("denied", DENIAL, NOTE)._replace(omitted={"GPS001": 2}, reason="x", source="y"),
            UNREADABLE,
            result("allowed")._replace(patch=(PATCH,)),
        ],
    ],
)
def test_yaml_report_has_data_of_json_report(entries: list[Entry]) -> None:
    text = written(YamlWriter(), entries)
    read = yaml.load(text, yaml.CSafeLoader)
    assert read == json.loads(json_of(*entries))
    assert list(read) == list(json.loads(json_of(*entries)))


def test_github_annotations() -> None:
    entries: list[Entry] = [result("denied", DENIAL, WARNING, NOTE), UNREADABLE, MISSING, Unread("v.yaml", "values")]
    assert written(GithubWriter(Page(tree=TREE)), entries).splitlines() == [
        "::error file=sub/a.yaml,line=7,col=3,title=GPS001::too many (Pod team-a/train); ask for 1",
        "::warning file=sub/a.yaml,line=1,col=1,title=GPS005::hides it (Pod team-a/train); leave it out",
        "::notice file=sub/a.yaml,line=7,col=3,title=GPS015::no grace (Pod team-a/train); give some",
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
    last = written(GithubWriter(), entries).splitlines()[-1]
    assert last.endswith("11 objects: 11 denied; GitHub shows the first 10 errors and the first 10 warnings of a step")
    assert "GitHub" not in written(GithubWriter(), entries[:10])


def test_github_says_what_is_read_as_facts() -> None:
    read = Read("nodes", "1 node", (Place("a%\nb.yaml", 3),), 1)
    evidence = Evidence((read,), (Refused("runtimeClasses", "two of one name differ"),))
    facts, refused, last = GithubWriter().end(Tally(evidence=evidence)).splitlines()
    assert facts == "::notice title=gpushare-webhook::facts from inputs: 1 node (a%25?b.yaml:3)"
    assert refused == "::notice title=gpushare-webhook::not read as facts: runtimeClasses: two of one name differ"
    assert last.startswith("::notice title=gpushare-webhook::0 objects")


def test_github_escapes() -> None:
    finding = replace(DENIAL.finding, message="100%0A::error::\r\n x", remedy="a,b:c")
    odd = result("denied", replace(DENIAL, finding=finding))._replace(file="50%, a:b\n.yaml")
    first = written(GithubWriter(), [odd]).splitlines()[0]
    assert first == (
        "::error file=50%25%2C a%3Ab?.yaml,line=7,col=3,title=GPS001::100%250A::error::?? x (Pod team-a/train); a,b:c"
    )


def test_gitlab_entries() -> None:
    entries: list[Entry] = [result("denied", DENIAL, WARNING, NOTE)._replace(file="./x/../a.yaml"), UNREADABLE, MISSING]
    found = json.loads(written(GitlabWriter(TREE), entries))
    assert [(one["check_name"], one["severity"], one["location"]) for one in found] == [
        ("GPS001", "critical", {"path": "sub/a.yaml", "lines": {"begin": 7}}),
        ("GPS005", "minor", {"path": "sub/a.yaml", "lines": {"begin": 1}}),
        ("GPS015", "info", {"path": "sub/a.yaml", "lines": {"begin": 7}}),
        ("unreadable", "blocker", {"path": "sub/b.yaml", "lines": {"begin": 3}}),
        ("unreadable", "blocker", {"path": "sub/c.yaml", "lines": {"begin": 1}}),
    ]
    assert found[0]["description"] == "too many (Pod team-a/train); ask for 1"
    assert len({one["fingerprint"] for one in found}) == len(found)


def test_gitlab_fingerprints_of_equal_errors_differ() -> None:
    found = json.loads(written(GitlabWriter(), [UNREADABLE, replace(UNREADABLE, line=9)]))
    assert len({one["fingerprint"] for one in found}) == 2


def test_gitlab_fingerprint_survives_moved_lines() -> None:
    moved = result("denied", replace(DENIAL, line=99))._replace(line=90)
    one, other = (json.loads(written(GitlabWriter(), [entry])) for entry in (result("denied", DENIAL), moved))
    assert one[0]["fingerprint"] == other[0]["fingerprint"]


def test_gitlab_report_without_findings() -> None:
    assert json.loads(written(GitlabWriter(), [result("allowed")])) == []


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (Subject("v1", "Pod", "team-a", "train"), "pod/train"),
        (Subject("apps/v1", "Deployment", "", "serve"), "deployment.apps/serve"),
        (Subject("kubeflow.org/v1", "PyTorchJob", "", "a.b-c"), "pytorchjob.kubeflow.org/a.b-c"),
        (Subject("v1", "--all", "", "x --all\n'"), "??all/x?--all??"),
        (Subject("a b/v1", "Pod", "", ""), "pod.a?b/"),
    ],
)
def test_names_are_those_of_kubectl(subject: Subject, name: str) -> None:
    assert written(NameWriter(), [result("denied", DENIAL, subject=subject)]) == f"{name}\n"


def test_names_of_failing_objects() -> None:
    entries = [
        result(decision, subject=Subject("v1", "Pod", "", decision))
        for decision in ("allowed", "warned", "denied", "skipped")
    ]
    shown = {one: written(NameWriter(one), [*entries, UNREADABLE]).split() for one in FailOn}
    assert shown == {
        FailOn.DENY: ["pod/denied"],
        FailOn.WARN: ["pod/warned", "pod/denied"],
        FailOn.UNREAD: ["pod/warned", "pod/denied"],
        FailOn.SKIPPED: ["pod/warned", "pod/denied", "pod/skipped"],
        FailOn.NEVER: ["pod/denied"],
    }
