"""Positions of findings: in every style of file, the value that a finding is about stands at its line and column."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import yaml

from tests import fixture
from tests.fixture import Fixture, review
from webhook.diagnostics import Diagnostic
from webhook.dryrun.evaluation import evaluate
from webhook.manifests import Manifest, Source, objects
from webhook.policy.verdict import Path

Json: TypeAlias = dict[str, Any]

FIXTURES = {one.name: one for one in fixture.load_all() if one.hook == "offline"}


class QuotingDumper(yaml.CSafeDumper):
    """Writes each value on one line where it stands, without aliases, and text in quotes."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def block(value: Json) -> str:
    return _dumped(value, is_flow=False)


def flow(value: Json) -> str:
    return _dumped(value, is_flow=True)


def _dumped(value: Json, *, is_flow: bool) -> str:
    return yaml.dump(
        value, Dumper=QuotingDumper, sort_keys=False, width=10**6, allow_unicode=True, default_flow_style=is_flow
    )


def in_list(value: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Namespace"}, value]}


STYLES: dict[str, Callable[[Fixture], str]] = {
    "block": lambda one: block(one.object),
    "block after documents": lambda one: (
        f"# licence\n---\n# only a comment\n---\n# Source: a.yaml\n{block(one.object)}"
    ),
    "block with CRLF": lambda one: block(one.object).replace("\n", "\r\n"),
    "flow": lambda one: flow(one.object),
    "JSON": lambda one: json.dumps(one.object),
    "indented JSON": lambda one: json.dumps(one.object, indent=2),
    "JSON with tabs": lambda one: json.dumps(one.object, indent="\t", ensure_ascii=False),
    "JSON lines": lambda one: "\n".join(
        [json.dumps({"apiVersion": "v1", "kind": "Namespace"}), json.dumps(one.object)]
    ),
    "List in block style": lambda one: block(in_list(one.object)),
    "List in JSON": lambda one: json.dumps(in_list(one.object), indent=1),
    "review": lambda one: json.dumps(review(one), indent=1),
    "review in block style": lambda one: block(review(one)),
}


@pytest.mark.exhaustive(every=3)
@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_value_of_each_finding_is_at_its_position(style: str) -> None:
    places = 0
    for one in FIXTURES.values():
        text = STYLES[style](one)
        manifest = _last_object(text)
        if manifest is None:
            continue
        checked = evaluate(manifest, fixture.evaluator_of(one), one.namespace)
        assert not isinstance(checked, Diagnostic), one.name
        lines = text.split("\n")
        for located in checked.result().findings:
            rest = lines[located.line - 1][located.column - 1 :]
            value = _nearest(one.object, located.path)
            assert _begins_with(rest, value, is_block="block" in style), (
                one.name,
                located.code,
                located.path,
                rest[:80],
            )
            places += 1
    assert places > 300


def _last_object(text: str) -> Manifest | None:
    """Return the object of a fixture; None where the object is a list of objects itself, or malformed."""
    found = list(objects(Source("file", text.encode())))
    return found[-1] if found and isinstance(found[-1], Manifest) else None


def _nearest(value: Any, path: Path) -> Any:
    """Return the value at a path, or its nearest ancestor."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
    return value


def _begins_with(text: str, value: Any, *, is_block: bool) -> bool:
    """Return whether a text begins with a value in JSON or YAML; what follows the value does not count."""
    if isinstance(value, dict | list) and value and is_block:
        return text.startswith("- ") if isinstance(value, list) else text.startswith(_key(next(iter(value))))
    if isinstance(value, dict | list):
        return text.startswith("{" if isinstance(value, dict) else "[")
    scalar = next(
        one
        for one in yaml.parse(("- " if is_block else "[") + text, yaml.CSafeLoader)
        if isinstance(one, yaml.ScalarEvent)
    )
    written: object = scalar.value
    return written == value if isinstance(value, str) else json.loads(scalar.value or "null") == value


def _key(name: str) -> str:
    """Return a key as a block mapping begins."""
    return f"{block({name: 1}).rpartition(':')[0]}:"
