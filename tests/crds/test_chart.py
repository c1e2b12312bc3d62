"""The chart's copy of the presets against the published definitions: CEL must know a mapping from a list."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

from tests.crds.published import published
from tests.crds.schema import Schema, every, fields
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow  # downloads what is missing

_GENERATOR = runpy.run_path(str(ROOT / "charts" / "generate.py"))
_AFTER_DEFINE = _GENERATOR["presets"]().partition('"gpushare-webhook.presets" -}}')[2].lstrip()
PRESETS: dict[str, Any] = json.JSONDecoder().raw_decode(_AFTER_DEFINE)[0]
KINDS = [kind for preset in PRESETS.values() for kind in preset["kinds"]]


def repeated(schema: Schema, path: str) -> list[tuple[str, bool]]:
    """The steps of a path through lists and mappings, each with whether the schema has a mapping there."""
    found = []
    for step in path.replace("[*]", ".[*]").split("."):
        if step in ("*", "[*]"):
            found.append((step, "additionalProperties" in schema))
        below = every(schema) if step in ("*", "[*]") else fields(schema).get(step)
        if below is None:
            break  # of another version, or open: the test of the paths decides
        schema = below
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['group']}/{kind['kind']}")
def test_mappings_are_those_of_published_definition(kind: dict[str, Any]) -> None:
    found = published(kind["group"], kind["kind"])
    schemas = [schema for definition in found for schema in definition.schemas.values()]
    for path in kind["paths"]:
        for schema in schemas:
            wrong = [step for step, is_mapping in repeated(schema, path["path"]) if is_mapping is not (step == "*")]
            assert wrong == [], path["path"]


def test_some_paths_lead_through_mappings() -> None:
    paths = [path["path"] for kind in KINDS for path in kind["paths"]]
    assert len([path for path in paths if ".*" in path]) >= 6
    assert len([path for path in paths if "[*]" in path]) >= 20
