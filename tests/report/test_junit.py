"""The JUnit report is XML that CI systems read.

The rules are those of the schema with which Jenkins validates such files (jenkinsci/xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.cli.run import run
from tests.report.golden import INPUTS, folder
from tests.report.reports import DENIAL, WARNING, result, written
from webhook.report.check.junit import JunitWriter
from webhook.report.model import Entry, LocatedFinding, Subject

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"skipped", "error", "failure", "system-out"},
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}
ALLOWED = {
    "testsuites": {"name"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"name", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}


def validated(text: str) -> ElementTree.Element:
    """Return the root of a report that follows the schema and whose counts are right."""
    root = ElementTree.fromstring(text.encode())  # noqa: S314 - our own report
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set()), element.tag
        assert REQUIRED.get(element.tag, set()) <= set(element.attrib) <= ALLOWED[element.tag], element.tag
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
    return root


def suites(entries: Iterable[Entry]) -> list[ElementTree.Element]:
    return list(validated(written(JunitWriter(), entries)))


def test_report_of_run_is_valid() -> None:
    with folder():
        text = run("check", *(f"./{name}" for name in INPUTS), "-o", "junit").out
    assert [suite.attrib["tests"] for suite in validated(text)].count("2") == 1


def test_report_without_entries() -> None:
    assert suites([]) == []


def test_denial_is_failure_and_warning_is_output() -> None:
    ((case,),) = suites([result("denied", DENIAL, WARNING, DENIAL)])
    assert case.attrib == {"name": "Pod team-a/train", "classname": "a.yaml"}
    failure, output = case
    assert failure.attrib == {"type": "GPS001", "message": "too many (and 1 more)"}
    assert failure.text == "\n".join(["a.yaml:7:3: deny GPS001 too many", "    remedy: ask for 1"] * 2)
    assert output.text == "a.yaml:1:1: warn GPS005 hides it\n    remedy: leave it out"


def test_suite_of_large_file_continues_in_another() -> None:
    assert [suite.attrib["tests"] for suite in suites([result("allowed")] * 1201)] == ["500", "500", "201"]


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\ufffe", "\ud800", "]]>", "<a>&amp;", "'\"", "\n::error::x"])
def test_text_of_users_is_legal_xml(text: str) -> None:
    finding = replace(DENIAL, message=text, remedy=text)
    odd = result("denied", finding, subject=Subject("v1", text, text, text))
    ((case,),) = suites([odd._replace(file=text)])
    shown = text if text.isprintable() else "?"
    assert shown[:2] in case.attrib["classname"] + "?"


@pytest.mark.parametrize("findings", [(), (WARNING,)])
def test_denial_without_listed_finding_is_failure(findings: tuple[LocatedFinding, ...]) -> None:
    (suite,) = suites([result("denied", *findings)._replace(omitted={"GPS001": 5})])
    (case,) = suite
    assert [child.tag for child in case] == ["failure", "system-out"]
    assert "and 5 more findings of GPS001" in str(case[1].text)
