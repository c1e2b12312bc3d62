"""The values: descriptions, generated files, and a schema that rejects unknown keys."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.chart.render import (
    CHART,
    MODES,
    REGISTRY,
    WEBHOOK_MODES,
    RefusedError,
    Values,
    entries,
    of_kind,
    refused,
    render,
    rendered,
)
from tests.project.repository import ROOT
from webhook import __version__

pytestmark = pytest.mark.slow

GENERATOR = runpy.run_path(str(ROOT / "charts" / "generate.py"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Objects of Kubernetes' own API, and what belongs to a parent chart.
OPEN = {"/$defs/kubernetes", "/properties/global"}


def test_generated_files_are_current() -> None:
    files = GENERATOR["files"]()
    assert set(files) == {
        *("values.schema.json", "README.md", "Chart.yaml"),
        *("templates/_defaults.tpl", "files/guard.yaml", "files/rights.json", "templates/_presets.tpl"),
    }
    assert {name: (CHART / name).read_text() for name in files} == files


def test_chart_has_product_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert f":{__version__}\n" in chart["annotations"]["artifacthub.io/images"]
    assert yaml.safe_load(chart["annotations"]["artifacthub.io/changes"])


def leaves(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        yield from leaves(value.below) if value.below else (value,)


def test_every_value_has_description() -> None:
    found = list(leaves(GENERATOR["values"]()))
    assert len(found) > 90
    assert [
        ".".join(value.path)
        for value in found
        if len(value.description) < 5 or not value.description.endswith((".", "`."))
    ] == []
    assert [".".join(value.path) for value in found if "schema:" in value.description] == []


def mappings(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of a mapping, with where it stands."""
    if isinstance(node, list):
        for index, element in enumerate(node):
            yield from mappings(element, f"{path}/{index}")
    if not isinstance(node, dict):
        return
    if "object" in ([node["type"]] if isinstance(node.get("type"), str) else node.get("type") or []):
        yield path, node
    for key, value in node.items():
        if key not in ("default", "enum", "const"):
            yield from mappings(value, f"{path}/{key}")


def test_schema_is_closed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = list(mappings(SCHEMA))
    assert len(found) > 50
    unbounded = {path for path, schema in found if schema.get("additionalProperties", True) is True}
    assert unbounded == OPEN | {"/properties/extraObjects/items"}


def test_schema_of_config_is_the_settings_schema() -> None:
    from webhook.settings.schema import schema

    settings = schema()
    assert SCHEMA["properties"]["config"]["properties"] == settings["properties"]
    assert settings["$defs"].items() <= SCHEMA["$defs"].items()


def test_defaults_fit_schema() -> None:
    Draft202012Validator(SCHEMA).validate(yaml.safe_load((CHART / "values.yaml").read_text()))


def test_modes_set_every_value() -> None:
    """So that the snapshots show what each value does."""
    given = [yaml.safe_load((CHART / "ci" / f"{mode}-values.yaml").read_text()) for mode in MODES]

    def is_set(path: tuple[str, ...]) -> bool:
        for values in given:
            node: Any = values
            for key in path:
                node = node.get(key, ...) if isinstance(node, dict) else ...
            if node is not ...:
                return True
        return False

    unset = {".".join(value.path) for value in leaves(GENERATOR["values"]()) if not is_set(value.path)}
    assert unset == UNSET


# The first four would change every object, and the snapshots with them: they have tests of their own.
UNSET = {"nameOverride", "fullnameOverride", "namespaceOverride", "commonLabels", "podDisruptionBudget.enabled"}


WRONG = refused("wrong-values")
WRONG["too many conditions"] = (
    {"webhooks": {"matchConditions": [{"name": f"c{n}", "expression": "true"} for n in range(62)]}},
    "/webhooks/matchConditions",
)


def test_condition_names_of_the_chart_are_reserved() -> None:
    hooks = [one for mode in WEBHOOK_MODES for one in entries(mode)]
    policies = [one["spec"] for one in of_kind("ValidatingAdmissionPolicy", "default")]
    ours = {condition["name"] for one in (*hooks, *policies) for condition in one["matchConditions"]}
    taken = SCHEMA["$defs"]["matchCondition"]["properties"]["name"]["not"]["enum"]
    assert set(taken) == ours - {"not-the-deployer"}


@pytest.mark.parametrize("label", WRONG)
def test_wrong_values_rejected_with_path(label: str) -> None:
    values, message = WRONG[label]
    with pytest.raises(RefusedError, match=re.escape(message)):
        rendered(values)


def below(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        yield value
        yield from below(value.below)


def nulled(path: tuple[str, ...]) -> Values:
    values: Any = None
    for key in reversed(path):
        values = {key: values}
    assert isinstance(values, dict)
    return values


SECTIONS = [value.path for value in below(GENERATOR["values"]()) if value.below]


@pytest.mark.parametrize("path", SECTIONS, ids=".".join)
def test_null_section_is_rejected_by_name(path: tuple[str, ...]) -> None:
    """Helm deletes a key that is null, and the templates would fail where they read a key below it."""
    *above, key = path
    place = "".join(f"/{name}" for name in above)
    with pytest.raises(RefusedError, match=re.escape(f"at '{place}': missing property '{key}'")):
        rendered(nulled(path))


# Null means "none" for these three, and something has to be chosen.
CHOSEN = {
    ("tls", "mode"): "tls.mode is null: set it to self-managed, cert-manager or existing-secret",
    ("image", "registry"): "image.registry is empty, and this project publishes no image: build the image",
    ("podDisruptionBudget", "maxUnavailable"): "minAvailable and maxUnavailable are both null; set one",
}


@pytest.mark.parametrize("path", [value.path for value in leaves(GENERATOR["values"]())], ids=".".join)
def test_null_value_is_rendered_or_rejected_with_remedy(path: tuple[str, ...]) -> None:
    if path in CHOSEN:
        with pytest.raises(RefusedError, match=re.escape(CHOSEN[path])):
            rendered(nulled(path))
    else:
        assert "<no value>" not in rendered(nulled(path))


# What the default values leave unused: each section with modes that use it.
USING = {"tls": ("cert-manager-issuer", "existing-secret"), "metrics": ("everything", "monitoring")}
NULLED = [(mode, value.path) for value in leaves(GENERATOR["values"]()) for mode in USING.get(value.path[0], ())]


@pytest.mark.parametrize(("mode", "path"), NULLED, ids=[f"{mode} {'.'.join(path)}" for mode, path in NULLED])
def test_null_value_in_use_is_rendered_or_rejected_with_remedy(mode: str, path: tuple[str, ...]) -> None:
    """A template that fails says what to do; any other problem of a template shows only the place in the chart."""
    values = yaml.safe_load((CHART / "ci" / f"{mode}-values.yaml").read_text())
    section = values
    for key in path[:-1]:
        section = section.setdefault(key, {})
    section[path[-1]] = None
    text, problem = "", ""
    try:
        text = rendered(values)
    except RefusedError as refusal:
        problem = str(refusal)
    assert "<no value>" not in text
    assert text or re.search(r"execution error at \(.+\): .*\b(set|remove)\b", problem), problem


NULLABLE = {"explainURL", "messageSuffix"}


@pytest.mark.parametrize("section", sorted(SCHEMA["properties"]["config"]["properties"].keys() - {"facts", *NULLABLE}))
def test_null_setting_is_rejected_by_name(section: str) -> None:
    """Helm deletes only keys that have a default in values.yaml, which only `facts` has."""
    with pytest.raises(RefusedError, match=f"at '/config/{section}'"):
        rendered({"config": {section: None}})
    assert rendered({"config": {"facts": None, **dict.fromkeys(NULLABLE)}})


def test_global_value_is_rejected_without_parent_chart() -> None:
    with pytest.raises(RefusedError, match=r"global\.imageRegistry is set, but no value of this chart is global"):
        rendered({"global": {"imageRegistry": REGISTRY}})
    assert rendered({"global": {}})


def test_global_values_of_parent_chart_are_allowed(tmp_path: Path) -> None:
    parent = {"apiVersion": "v2", "name": "parent", "version": "1.0.0"}
    (tmp_path / "Chart.yaml").write_text(json.dumps(parent))
    (tmp_path / "charts").mkdir()
    shutil.copytree(CHART, tmp_path / "charts" / CHART.name)
    ours = {"enabled": True, "replicas": 3, "image": {"registry": REGISTRY}}
    values = {"global": {"imageRegistry": REGISTRY}, CHART.name: ours}
    assert "  replicas: 3\n" in render(values, chart=tmp_path).text
