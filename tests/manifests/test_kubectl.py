"""The reader agrees with kubectl: recorded output of kubectl, and the list of intended differences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cases import every_case
from tests.manifests.reading import read
from webhook.diagnostics import Diagnostic
from webhook.manifests import Manifest

HERE = Path(__file__).parent
TABLE: dict[str, Any] = json.loads((HERE / "data" / "kubectl.json").read_text())
CASES: dict[str, Any] = TABLE["cases"]

# Where kubectl reads something and we report a problem.
TWICE = "kubectl takes the last of two equal keys in silence; the first is a mistake that the author should know of"
MERGED = "kustomize takes the other value, so that the file means two things"
IGNORED = "kubectl ignores the text in silence; the author believes that it counts"
BEGINS_A_KEY = "kubectl takes the mark for the first character of a key that then means nothing"
EMPTY_ITEM = "kubectl makes an object of the kind that the list implies out of nothing"
NO_SEPARATOR = "kubectl refuses it above the first document, and to other YAML readers it is text"
STRICTER = {
    "block duplicate key": TWICE,
    "block duplicate key by spelling": TWICE,
    "block duplicate key in a flow mapping": TWICE,
    "block duplicate key below": TWICE,
    "block merge after the key wins": MERGED,
    "stream JSON with a key twice": TWICE,
    "stream JSON with a key twice below": TWICE,
    "stream text after end marker": IGNORED,
    "stream end marker with text": IGNORED,
    "stream JSON lines with trailing comma in the first": IGNORED,
    "stream text after a flow mapping": IGNORED,
    "stream byte order mark inside": BEGINS_A_KEY,
    "stream comment right after a later separator": NO_SEPARATOR,
    "stream PodList with empty item": EMPTY_ITEM,
}
# kubectl rejects the whole input at the first error; the reader continues with the next document.
CONTINUES = {
    "stream error in the second",
    "stream mapping beside separator",
    "stream mapping beside a later separator",
    "stream separator in quotes",
    "stream separator in a top-level block scalar",
    "stream directive",
    "stream tag directive",
    "stream comment and directive",
    "stream end marker between",
    "stream four dashes",
    "stream text right after separator",
}
# An object without a kind: the reader reads it, and what comes after reports it.
NO_KIND = {"stream kind is a number", "stream kind is null", "stream empty mapping", "stream mapping without kind"}
# The decoders read it, and the program then rejects it.
REJECTED_BY_PROGRAM = {"stream List in a List", "stream List with null item", "stream List with empty item"}


def plain_numbers(value: Any) -> Any:
    """Return recorded JSON with integers of more than 64 bits as floats, which is what they are to Kubernetes."""
    if isinstance(value, dict):
        return {key: plain_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain_numbers(inner) for inner in value]
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def typed(value: Any) -> str:
    """Return a form that tells 1 from 1.0 and from True."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def answer(text: str) -> tuple[list[object], list[Diagnostic]]:
    found = list(read("case.yaml", text.encode()))
    return [m.value for m in found if isinstance(m, Manifest)], [p for p in found if isinstance(p, Diagnostic)]


@every_case(CASES)
def test_values_equal_kubectl(name: str) -> None:
    case = CASES[name]["kubectl"] if name in REJECTED_BY_PROGRAM else CASES[name]
    objects, problems = answer(CASES[name]["input"])
    if name in STRICTER:
        assert "error" not in case
        assert problems
        return
    if name in NO_KIND:
        assert "error" in case
        return
    assert bool(problems) == ("error" in case), problems
    if name in CONTINUES | REJECTED_BY_PROGRAM:
        assert "error" in case
        assert typed(objects[: len(case["objects"])]) == typed(case["objects"])
    else:
        assert typed(objects) == typed(plain_numbers(case["objects"]))


@every_case(CASES)
def test_diagnostics_have_position_and_message(name: str) -> None:
    text = CASES[name]["input"]
    for problem in answer(text)[1]:
        assert problem.file == "case.yaml"
        assert 1 <= problem.line <= text.count("\n") + 2
        assert problem.column >= 1
        assert 10 < len(problem.message) <= 120


@every_case(sorted(CONTINUES))
def test_documents_after_an_error_are_read(name: str) -> None:
    case = CASES[name]
    objects, problems = answer(case["input"])
    assert problems
    assert len(objects) > len(case["objects"]) or name in {
        "stream separator in quotes",
        "stream mapping beside separator",
        "stream mapping beside a later separator",
    }


def test_recorded_kubectl_equals_library() -> None:
    differing = {name for name, case in CASES.items() if "kubectl" in case}
    assert differing == {
        *REJECTED_BY_PROGRAM,
        "stream separator in a top-level block scalar",
        "stream PodList in JSON",  # The second item has no apiVersion, which the program needs.
    }


def test_recorded_table_is_large() -> None:
    kinds = [name.partition(" ")[0] for name in CASES]
    assert kinds.count("value") >= 200
    assert kinds.count("key") >= 30
    assert kinds.count("block") >= 50
    assert kinds.count("stream") >= 50
