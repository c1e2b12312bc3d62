"""What is made from the dataclasses: JSON Schemas and reference pages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from jsonschema import Draft202012Validator

from docs.settings import facts_page, settings_page
from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import Configuration, view
from webhook.settings.members import Member, bare, is_section, members
from webhook.settings.schema import facts_schema, schema

ROOT = Path(__file__).parents[2]


def keys(hint: Any, above: str = "") -> Iterator[tuple[str, Member]]:
    hint = bare(hint)
    if get_origin(hint) is tuple:
        yield from keys(get_args(hint)[0], above)
    if is_section(hint):
        for key, member in members(hint).items():
            yield above + key, member
            yield from keys(member.hint, f"{above}{key}.")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for below in value.values():
            yield from objects(below)
    elif isinstance(value, list):
        for below in value:
            yield from objects(below)


@pytest.mark.parametrize("made", [schema(), facts_schema()], ids=["settings", "facts"])
def test_schema_is_valid_and_closed_and_has_portable_patterns(made: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(made)
    found = list(objects(made))
    assert len(found) > 4
    assert all(one["additionalProperties"] is False for one in found)
    patterns = re.findall(r"'pattern': '([^']*)'", str(made))
    assert patterns
    assert not [pattern for pattern in patterns if re.search(r"\(\?(?!:)|\\[AZzdwsbB]", pattern)]


@pytest.mark.parametrize("reference", ["configs", "gpus/configs/default", "GPUs/configs", {"configMaps": ["configs"]}])
def test_schema_rejects_device_plugin_without_namespace_and_name(reference: object) -> None:
    validator = Draft202012Validator(schema())
    assert validator.is_valid({"facts": {"devicePlugin": "gpus/configs"}})
    assert not validator.is_valid({"facts": {"devicePlugin": reference}})


def test_schema_defaults_match_dataclasses() -> None:
    made, usual = schema(), view(Configuration())
    server = made["$defs"]["ServerSettings"]["properties"]
    assert {key: one["default"] for key, one in server.items()} == usual["server"]
    assert made["properties"]["resources"]["default"] == usual["resources"]
    assert made["properties"]["mode"]["default"] == "enforce"


@pytest.mark.parametrize(("file", "least"), [(Configuration, 80), (Facts, 15)])
def test_every_key_has_a_description(file: type, least: int) -> None:
    found = dict(keys(file))
    assert len(found) > least
    assert [key for key, member in found.items() if not member.description.endswith(".")] == []


@pytest.mark.parametrize(("name", "page"), [("settings.md", settings_page), ("facts.md", facts_page)])
def test_reference_page_is_current(name: str, page: Callable[[], str]) -> None:
    on_disk = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert on_disk == page(), "run: make docs"


def test_reference_names_every_key() -> None:
    page = settings_page().replace("[]", "")
    named = [key for key, member in keys(Configuration) if not is_section(member.hint)]
    assert [key for key in named if f"`{key}`" not in page] == []


def test_defaults_need_no_pydantic() -> None:
    code = (
        "import sys\n"
        "from webhook.settings.configuration import Configuration, view\n"
        "view(Configuration())\n"
        "assert not {'pydantic', 'pydantic_core', 'webhook.manifests'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
