"""Every example says in its first line what will be said of it, and it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

FOLDER = Path(__file__).parents[2] / "examples"

VERDICTS: dict[str, tuple[str, list[str], bool]] = {
    "notebook.yaml": ("warned", ["GPS005", "GPS009"], True),
    "storm.yaml": ("denied", ["GPS001"], False),
    "vectoradd.yaml": ("allowed", [], True),
    "whole-cards.yaml": ("allowed", [], True),
    "wrong-directory.yaml": ("denied", ["GPS004"], False),
}
"""For each example, as its first line claims: the decision, the codes, and whether something is added."""

CLAIMS = {
    "notebook.yaml": ["two warnings", "the limit that its annotation asks for"],
    "storm.yaml": ["asks for two replicas", "300 failed pods"],
    "vectoradd.yaml": ["one replica", "adds all that it forgot"],
    "whole-cards.yaml": ["legal", "no MPS path is injected"],
    "wrong-directory.yaml": ["look for the MPS daemon where there is none"],
}
"""What the first lines say; a line that comes to say something else needs another verdict here."""


def result(name: str) -> Any:
    (only,) = run("check", "-f", FOLDER / name, "-o", "json").json()["results"]
    return only


def test_no_example_lacks_a_verdict() -> None:
    assert sorted(file.name for file in FOLDER.glob("*.yaml")) == sorted(VERDICTS) == sorted(CLAIMS)


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_is_the_one_claimed(name: str) -> None:
    first = (FOLDER / name).read_text().partition("\n")[0]
    assert first.startswith("# ")
    assert first.endswith(".")
    assert [claim for claim in CLAIMS[name] if claim not in first] == []
    judged = result(name)
    codes = [finding["code"] for finding in judged["findings"]]
    assert (judged["decision"], codes, bool(judged["patch"])) == VERDICTS[name]


def test_the_notebook_gets_the_limit_of_its_annotation() -> None:
    limit = {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "25"}
    assert limit in result("notebook.yaml")["patch"][1]["value"]


def test_whole_cards_get_no_path_of_mps() -> None:
    assert "mps" not in str(result("whole-cards.yaml")["patch"])


def test_vectoradd_gets_all_that_it_forgot() -> None:
    added = {operation["path"] for operation in result("vectoradd.yaml")["patch"]}
    assert {"/spec/runtimeClassName", "/spec/tolerations", "/spec/volumes", "/spec/containers/0/env"} <= added
