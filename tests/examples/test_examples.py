"""The first line of every example announces its verdict, and the announcement is right."""

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
"""For each example the decision, the codes, and whether the webhook adds fields."""

CLAIMS = {
    "notebook.yaml": ["a warning", "the limit that its annotation asks for"],
    "storm.yaml": ["asks for two replicas", "300 failed pods"],
    "vectoradd.yaml": ["one replica", "adds everything that is missing"],
    "whole-cards.yaml": ["allowed", "injects no MPS path"],
    "wrong-directory.yaml": ["look for the MPS daemon in the wrong place"],
}
"""Parts of the first lines. A line with another claim needs another verdict."""


def result(name: str) -> Any:
    (only,) = run("check", "-f", FOLDER / name, "--profile", "device-plugin", "-o", "json").json()["results"]
    return only


def test_every_example_has_a_verdict() -> None:
    assert sorted(file.name for file in FOLDER.glob("*.yaml")) == sorted(VERDICTS) == sorted(CLAIMS)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict_equals_claim(name: str) -> None:
    first = (FOLDER / name).read_text().partition("\n")[0]
    assert first.startswith("# ")
    assert first.endswith(".")
    assert [claim for claim in CLAIMS[name] if claim not in first] == []
    checked = result(name)
    codes = [finding["code"] for finding in checked["findings"]]
    assert (checked["decision"], codes, bool(checked["patch"])) == VERDICTS[name]


def test_notebook_gets_limit_of_annotation() -> None:
    limit = {"name": "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "value": "25"}
    assert limit in result("notebook.yaml")["patch"][1]["value"]


def test_whole_cards_get_no_mps_path() -> None:
    assert "mps" not in str(result("whole-cards.yaml")["patch"])


def test_vectoradd_gets_all_injections() -> None:
    added = {operation["path"] for operation in result("vectoradd.yaml")["patch"]}
    assert {"/spec/runtimeClassName", "/spec/tolerations", "/spec/volumes", "/spec/containers/0/env"} <= added
