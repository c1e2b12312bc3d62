"""The errors of a file are counted; the first ones are listed, in every format and by every command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.run import Ended, run
from webhook.diagnostics import MOST_LISTED, Diagnostic, InputError, listed
from webhook.manifests.objects import MOST_ERRORS
from webhook.report.check import CheckFormat
from webhook.settings.load import MOST_DESCRIBED

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
MORE = 5
MANY = MOST_LISTED + MORE
FURTHER = f"and {MORE} more errors"


def broken(count: int) -> str:
    """A pod among documents that cannot be read."""
    half = count // 2
    return "--- a: b: c\n" * half + f"---\n{POD}" + "---\na: b: c\n" * (count - half)


def listed_in(ended: Ended, chosen: CheckFormat) -> list[str]:
    """The messages of the errors that a report lists; of a report without errors, those on standard error."""
    match chosen:
        case CheckFormat.JSON:
            return [error["message"] for error in ended.json()["errors"]]
        case CheckFormat.JUNIT:
            root = ElementTree.fromstring(ended.out)  # noqa: S314 - our own report
            return [error.attrib["message"] for error in root.iter("error")]
        case CheckFormat.SARIF:
            (invocation,) = ended.json()["runs"][0]["invocations"]
            return [error["message"]["text"] for error in invocation["toolExecutionNotifications"]]
        case CheckFormat.GITHUB:
            return re.findall(r"^::error .*?::(.*)$", ended.out, re.MULTILINE)
        case CheckFormat.TEXT:
            return [line.partition(": ")[2] for line in ended.err.splitlines()]


@pytest.mark.parametrize("chosen", CheckFormat)
def test_errors_of_a_file_are_listed_up_to_a_limit_and_counted(here: Path, chosen: CheckFormat) -> None:
    (here / "a.yaml").write_text(broken(MANY))
    ended = run("check", "a.yaml", "-o", chosen.value)
    found = listed_in(ended, chosen)
    assert ended.code == 2
    assert len(found) == MOST_LISTED + 1
    assert found[-1] == FURTHER
    assert len(ended.err.splitlines()) == MOST_LISTED + 1


@pytest.mark.parametrize("chosen", CheckFormat)
def test_report_says_that_a_file_is_not_read_behind_its_errors(here: Path, chosen: CheckFormat) -> None:
    (here / "a.yaml").write_text("--- a: b: c\n" * MOST_ERRORS + f"---\n{POD}")
    ended = run("check", "a.yaml", "-o", chosen.value)
    found = listed_in(ended, chosen)
    assert ended.code == 2
    assert [message for message in found if "some of the documents below are not read" in message] == [found[-2]]
    assert found[-1] == f"and {MOST_ERRORS - MOST_LISTED} more errors"


def test_file_with_fewer_errors_is_read_to_its_end(here: Path) -> None:
    (here / "a.yaml").write_text("--- a: b: c\n" * (MOST_ERRORS - 1) + f"---\n{POD}")
    assert summary("a.yaml")["objects"] == 1


@pytest.mark.parametrize("chosen", CheckFormat)
def test_errors_within_the_limit_are_all_listed(here: Path, chosen: CheckFormat) -> None:
    (here / "a.yaml").write_text(broken(MOST_LISTED))
    found = listed_in(run("check", "a.yaml", "-o", chosen.value), chosen)
    assert len(found) == MOST_LISTED
    assert not any("more error" in one for one in found)


def summary(*arguments: object, stdin: bytes = b"") -> dict[str, int]:
    found: dict[str, int] = run("check", *arguments, "-o", "json", stdin=stdin).json()["summary"]
    return found


def test_sections_of_a_stream_are_one_file() -> None:
    documents = 60_000
    stream = b"--- a: b: c\n" * documents
    ended = run("check", "-", "-o", "json", stdin=stream)
    report = ended.json()
    assert (ended.code, len(report["errors"])) == (2, MOST_LISTED + 2)
    assert MOST_ERRORS < (errors := report["summary"]["errors"]) < documents
    assert len([error for error in report["errors"] if "are not read" in error["message"]]) == 1
    assert report["errors"][-1]["message"] == f"and {errors - MOST_LISTED:,} more errors"


def test_each_file_has_its_own_limit(here: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (here / name).write_text(broken(MANY))
    report = run("check", ".", "-o", "json").json()
    assert [error["file"] for error in report["errors"] if error["message"] == FURTHER] == ["./a.yaml", "./b.yaml"]
    assert report["summary"]["errors"] == 2 * MANY


LISTS = {
    "YAML": "apiVersion: v1\nkind: List\nitems:\n" + "- {}\n- 1\n" * MANY,
    "JSON": json.dumps({"apiVersion": "v1", "kind": "List", "items": [{}, 1] * MANY}),
    "lists in a list": "apiVersion: v1\nkind: List\nitems:\n" + "- {items: []}\n- {items: 1}\n" * MANY,
    "malformed pods": "apiVersion: v1\nkind: PodList\nitems:\n" + "- {spec: 1}\n- {spec: []}\n" * MANY,
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_errors_of_the_items_of_a_list_are_counted(here: Path, text: str) -> None:
    (here / "a.yaml").write_text(text)
    report = run("check", "a.yaml", "-o", "json").json()
    assert (report["summary"]["errors"], len(report["errors"])) == (2 * MANY, MOST_LISTED + 1)
    assert all(error["line"] and error["column"] for error in report["errors"][:-1])


def test_objects_of_a_list_with_errors_are_checked(here: Path) -> None:
    (here / "a.yaml").write_text(
        "apiVersion: v1\nkind: List\nitems:\n" + "- 1\n" * MANY + "- {apiVersion: v1, kind: Service}\n"
    )
    report = run("check", "a.yaml", "-o", "json").json()
    assert [(one["object"]["kind"], one["line"]) for one in report["results"]] == [("Service", MANY + 4)]


def test_mutate_lists_and_counts_errors(here: Path) -> None:
    (here / "a.yaml").write_text(broken(MANY))
    ended = run("mutate", "a.yaml")
    *lines, further, end = ended.err.splitlines()
    assert (ended.code, len(lines), further) == (2, MOST_LISTED, f"a.yaml: {FURTHER}")
    assert end == f"1 object: 1 unchanged; {MANY} errors"


@pytest.mark.parametrize("option", ["--config", "--facts"])
@pytest.mark.parametrize(
    "text", ["--- a: b: c\n" * MANY, "".join(f"k{number}: 1\n" for number in range(MANY))], ids=["documents", "keys"]
)
def test_errors_of_settings_and_facts_are_counted(here: Path, option: str, text: str) -> None:
    (here / "a.yaml").write_text(POD)
    (here / "own.yaml").write_text(text)
    ended = run("check", "a.yaml", option, "own.yaml")
    assert (ended.code, len(ended.err.splitlines())) == (2, MOST_LISTED + 1)
    assert ended.err.splitlines()[-1] == f"own.yaml: {FURTHER}"


def test_errors_of_settings_that_are_not_described_are_counted(here: Path) -> None:
    (here / "a.yaml").write_text(POD)
    (here / "own.yaml").write_text("".join(f"k{number}: 1\n" for number in range(MOST_DESCRIBED + MANY)))
    lines = run("check", "a.yaml", "--config", "own.yaml").err.splitlines()
    assert lines[0].startswith('own.yaml:1:1: k0: unknown key "k0"')
    assert lines[-1] == f"own.yaml: and {MOST_DESCRIBED + MORE:,} more errors"


def test_objects_between_errors_are_passed_on_in_order() -> None:
    errors = [Diagnostic("a", line, 1, "wrong") for line in range(1, MANY + 1)]
    other = Diagnostic("b", 1, 1, "wrong")
    found = list(listed([*errors, other, *errors]))
    further = Diagnostic("a", 0, 0, FURTHER, MORE)
    assert found == [*errors[:MOST_LISTED], further, other, *errors[:MOST_LISTED], further]
    assert sum(one.errors for one in found if isinstance(one, Diagnostic)) == 2 * MANY + 1


def test_counts_of_parts_of_a_file_add_up() -> None:
    errors = [Diagnostic("a", 1, 1, "wrong")] * (MOST_LISTED + 1)
    twice = list(listed([*listed(errors), *listed(errors)]))
    assert twice == [*errors[1:], Diagnostic("a", 0, 0, f"and {MOST_LISTED + 2} more errors", MOST_LISTED + 2)]
    assert list(listed(errors))[-1].message == "and 1 more error"


def test_input_error_lists_its_first_diagnostics() -> None:
    error = InputError([Diagnostic("a", 1, 1, "wrong")] * MANY)
    assert str(error).splitlines()[-1] == f"a: {FURTHER}"
    assert len(error.diagnostics) == MOST_LISTED + 1
