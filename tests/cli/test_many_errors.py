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


UNREADABLE = "--- a: b: c\n"
NOT_READ = "some of the documents below are not read"


@pytest.mark.parametrize("chosen", CheckFormat)
@pytest.mark.parametrize(
    ("text", "last"),
    [
        (broken(MANY), FURTHER),
        (broken(MOST_LISTED), None),
        (UNREADABLE * MOST_ERRORS + f"---\n{POD}", f"and {MOST_ERRORS - MOST_LISTED} more errors"),
    ],
    ids=["many", "within the limit", "not read behind its errors"],
)
def test_errors_of_a_file_are_listed_up_to_a_limit_and_counted(
    here: Path, text: str, last: str | None, chosen: CheckFormat
) -> None:
    (here / "a.yaml").write_text(text)
    ended = run("check", "a.yaml", "-o", chosen.value)
    found = listed_in(ended, chosen)
    assert ended.code == 2
    assert [one for one in found if "more error" in one] == ([last] if last else [])
    ends_early = text.startswith(UNREADABLE * MOST_ERRORS)
    assert [number for number, one in enumerate(found) if NOT_READ in one] == [len(found) - 2] * ends_early
    assert len(found) == len(ended.err.splitlines()) == MOST_LISTED + bool(last) + ends_early


def test_file_with_fewer_errors_is_read_to_its_end(here: Path) -> None:
    (here / "a.yaml").write_text(UNREADABLE * (MOST_ERRORS - 1) + f"---\n{POD}")
    assert summary("a.yaml")["objects"] == 1


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


def keys(count: int) -> str:
    return "".join(f"k{number}: 1\n" for number in range(count))


@pytest.mark.parametrize(
    ("option", "text", "last"),
    [
        ("--config", UNREADABLE * MANY, FURTHER),
        ("--facts", UNREADABLE * MANY, FURTHER),
        ("--config", keys(MANY), FURTHER),
        ("--facts", keys(MANY), FURTHER),
        ("--config", keys(MOST_DESCRIBED + MANY), f"and {MOST_DESCRIBED + MORE:,} more errors"),
    ],
    ids=lambda value: value[:20],
)
def test_errors_of_settings_and_facts_are_counted(here: Path, option: str, text: str, last: str) -> None:
    (here / "a.yaml").write_text(POD)
    (here / "own.yaml").write_text(text)
    ended = run("check", "a.yaml", option, "own.yaml")
    assert (ended.code, len(ended.err.splitlines())) == (2, MOST_LISTED + 1)
    assert ended.err.splitlines()[-1] == f"own.yaml: {last}"


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
