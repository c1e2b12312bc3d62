"""What is made from the shapes: JSON Schemas and reference pages; and the shapes themselves."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import DOCUMENT, Configuration, default, not_in_force, view
from webhook.settings.narrow import NARROWER
from webhook.settings.reference import facts_page, settings_page
from webhook.settings.schema import facts_schema, schema
from webhook.settings.shape import Listing, Member, Section, Shape, bare, camel, section

ROOT = Path(__file__).parents[2]
DOCUMENTS = [pytest.param(schema(), id="settings"), pytest.param(facts_schema(), id="facts")]


def members(shape: Shape, above: str = "") -> Iterator[tuple[str, Member]]:
    shape = bare(shape)
    if isinstance(shape, Listing):
        yield from members(shape.element, above)
    if isinstance(shape, Section):
        for member in shape.members:
            yield above + member.key, member
            yield from members(member.shape, f"{above}{member.key}.")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for below in value.values():
            yield from objects(below)
    elif isinstance(value, list):
        for below in value:
            yield from objects(below)


@pytest.mark.parametrize("made", DOCUMENTS)
def test_a_schema_is_valid_and_closed(made: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(made)
    found = list(objects(made))
    assert len(found) > 4
    assert all(one["additionalProperties"] is False for one in found)


@pytest.mark.parametrize("made", DOCUMENTS)
def test_a_schemas_patterns_are_known_to_other_languages(made: dict[str, Any]) -> None:
    patterns = re.findall(r"'pattern': '([^']*)'", str(made))
    assert patterns
    assert not [pattern for pattern in patterns if re.search(r"\(\?(?!:)|\\[AZzdwsbB]", pattern)]


def test_the_schemas_defaults_are_those_of_the_code() -> None:
    made, usual = schema(), view(default())
    server = made["$defs"]["Server"]["properties"]
    assert {key: one["default"] for key, one in server.items()} == usual["server"]
    assert made["properties"]["resources"]["default"] == usual["resources"]
    assert made["properties"]["mode"]["default"] == "enforce"


@pytest.mark.parametrize("shape", [DOCUMENT, section(Facts)], ids=["settings", "facts"])
def test_every_key_says_what_it_is(shape: Section) -> None:
    assert not [key for key, member in members(shape) if not member.says.endswith(".")]


def test_what_is_narrowed_exists() -> None:
    for cls, name in NARROWER:
        assert name in {field.name for field in dataclasses.fields(cls)}


def test_keys_are_camel_case() -> None:
    assert [camel(name) for name in ("host", "per_pod", "client_ca", "host_ipc")] == [
        "host",
        "perPod",
        "clientCA",
        "hostIPC",
    ]


@pytest.mark.parametrize(("name", "page"), [("settings.md", settings_page), ("facts.md", facts_page)])
def test_the_reference_is_up_to_date(name: str, page: Callable[[], str]) -> None:
    there = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert there == page(), "run: python -m webhook.settings.reference docs/reference"


def test_the_reference_is_written_by_its_command(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "webhook.settings.reference", tmp_path], check=True, cwd=ROOT)
    assert (tmp_path / "settings.md").read_text(encoding="utf-8") == settings_page()
    assert (tmp_path / "facts.md").read_text(encoding="utf-8") == facts_page()


def test_the_reference_names_every_key() -> None:
    page = settings_page().replace("[]", "")
    assert not [
        key for key, member in members(DOCUMENT) if f"`{key}`" not in page and not isinstance(member.shape, Section)
    ]


def test_the_keys_without_effect_are_those_that_are_not_built_yet() -> None:
    assert [key for key, member in members(DOCUMENT) if member.later] == [
        "facts.nodes",
        "facts.namespaces",
        "facts.devicePlugin",
        "facts.maxAge",
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", []),
        ("mode: warn\nserver: {port: 0, keepAlive: 2m, drainTimeout: 10s}\ntls: {mode: files}", []),
        ("tls: {mode: self-managed, clientCA: ca.pem}", []),
        ("facts: {nodes: true}\nserver: {maxInFlight: 1}", ["facts.nodes"]),
    ],
)
def test_keys_that_do_nothing_yet_are_told(
    load_text: Callable[[str], Configuration], text: str, keys: list[str]
) -> None:
    assert not_in_force(load_text(text)) == keys


def test_defaults_need_no_pydantic() -> None:
    code = (
        "import sys\n"
        "from webhook.settings.configuration import default, not_in_force, view\n"
        "view(default()), not_in_force(default())\n"
        "assert not {'pydantic', 'pydantic_core', 'webhook.manifests'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
