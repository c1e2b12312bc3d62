"""The published definitions are there, each from the version in go.mod."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.crds.published import DEFINITIONS, definitions

pytestmark = pytest.mark.slow  # downloads what is missing

MODULES = Path(__file__).parent / "go"
MOST_BYTES = 1024 * 1024  # an API server cannot store more than about 1.5 MiB


def test_every_required_module_has_definitions_and_a_digest() -> None:
    required = re.findall(r"^\t(\S+) (v\S+)$", (MODULES / "go.mod").read_text(), re.MULTILINE)
    digests = {tuple(line.split()[:2]) for line in (MODULES / "go.sum").read_text().splitlines()}
    assert sorted(path for path, _ in required) == sorted(DEFINITIONS)
    assert set(required) <= digests
    assert {definition.module for definition in definitions()} == set(DEFINITIONS)


def test_definitions_are_structural_and_fit_an_api_server() -> None:
    for definition in definitions():
        assert definition.name == f"{definition.plural}.{definition.group}"
        assert definition.schemas, definition.name
        assert all(schema["type"] == "object" for schema in definition.schemas.values()), definition.name
        assert len(json.dumps(definition.installable)) < MOST_BYTES, definition.name
