"""Write the generated files of the chart: its schema, the table in its README.md, its version, two templates.

values.yaml is the source of the values: the comment above a key describes it, and a comment line `schema: {…}` adds to
its type what the default does not show, with the definitions of definitions.yaml. Schema and defaults of `config` are
those of the settings file, from the fields of its dataclasses. The wrong names are those that GPS013 knows, the presets
those of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml

from charts.rights import READ, rules
from webhook import __version__
from webhook.guard import ASKED_WITH, NEVER_WITH, SPEC, SUFFIX
from webhook.policy.pods.gpu_resources import WRONG_NAMES
from webhook.policy.workloads.kinds import BUILT_IN, Kind
from webhook.policy.workloads.paths import Assembly, PodPath
from webhook.policy.workloads.presets import PRESETS
from webhook.settings.configuration import Configuration
from webhook.settings.members import bare, is_section, members
from webhook.settings.profiles import PROFILES
from webhook.settings.schema import DIALECT, schema

HERE = Path(__file__).parent
CHART = HERE / "gpushare-webhook"
SETTINGS = "config"
_MARK = "<!-- values: written by `make charts` -->\n"
_PIPE = "\\|"
_LONGEST_DEFAULT = 60
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}

# A parent chart may enable or disable this one by `enabled`, and shares `global` with it.
_OF_PARENTS = {
    "global": {"type": "object", "description": "Values that a parent chart shares with its charts; unused here."},
    "enabled": {"type": "boolean", "description": "For the condition of a parent chart; unused here."},
}


@dataclass(frozen=True, slots=True)
class Value:
    """One key of values.yaml: its description, what the line `schema:` adds to it, its default, the keys below it."""

    path: tuple[str, ...]
    description: str
    adds: Mapping[str, Any]
    default: Any
    below: tuple[Value, ...]


def values() -> tuple[Value, ...]:
    """The chart's values."""
    text = (CHART / "values.yaml").read_text()
    return tuple(_members(yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text), text.splitlines(), ()))


def _members(node: Any, held: Mapping[str, Any], lines: list[str], above: tuple[str, ...]) -> Iterator[Value]:
    for key, member in node.value:
        path = (*above, key.value)
        description, adds = _comment(lines, key.start_mark.line, key.start_mark.column)
        default = held[key.value]
        is_section = (
            isinstance(member, yaml.MappingNode) and member.value and "$ref" not in adds and path != (SETTINGS,)
        )
        below = tuple(_members(member, default, lines, path)) if is_section else ()
        yield Value(path, description, adds, default, below)


def _comment(lines: list[str], line: int, column: int) -> tuple[str, Mapping[str, Any]]:
    """The text of the comment right above a line, and the addition of its line `schema:`."""
    start = " " * column + "#"
    first = line
    while first and lines[first - 1].startswith(start):
        first -= 1
    comment = [text.removeprefix(start).strip() for text in lines[first:line]]
    adds = [yaml.safe_load(text.removeprefix("schema:")) for text in comment if text.startswith("schema:")]
    return " ".join(text for text in comment if not text.startswith("schema:")), adds[0] if adds else {}


def values_schema() -> dict[str, Any]:
    """The JSON Schema of the values."""
    settings = schema()
    del settings["$schema"]
    definitions = settings.pop("$defs")
    properties = {value.path[-1]: _schema(value) for value in values()}
    properties[SETTINGS] = {**settings, **_described(_of(SETTINGS))}
    return {
        "$schema": DIALECT,
        "title": "Values of the chart gpushare-webhook",
        "type": "object",
        "additionalProperties": False,
        "required": _sections(values()),
        "properties": {**properties, **_OF_PARENTS},
        "$defs": {**yaml.safe_load((HERE / "definitions.yaml").read_text()), **definitions},
    }


def _of(key: str) -> Value:
    return next(value for value in values() if value.path == (key,))


def _schema(value: Value) -> dict[str, Any]:
    described = _described(value)
    if value.below:
        del described["default"]
        members = {member.path[-1]: _schema(member) for member in value.below}
        required = {"required": sections} if (sections := _sections(value.below)) else {}
        return {
            "type": "object",
            "additionalProperties": False,
            **required,
            "properties": members,
            **described,
            **value.adds,
        }
    typed = {} if {"$ref", "enum", "type"} & value.adds.keys() else {"type": _TYPES[type(value.default)]}
    return {**typed, **described, **value.adds}


def _sections(found: tuple[Value, ...]) -> list[str]:
    """The keys that hold other keys, which all must exist: Helm deletes a key that is set to null."""
    return [value.path[-1] for value in found if value.below]


def _described(value: Value) -> dict[str, Any]:
    return ({"description": value.description} if value.description else {}) | {"default": value.default}


def table() -> str:
    """The values as a table in Markdown."""
    rows = [
        f"| `{'.'.join(value.path)}` | {_default(value.default)} | {value.description.replace('|', _PIPE)} |"
        for value in _leaves(values())
    ]
    return "\n".join(["| value | default | description |", "| --- | --- | --- |", *rows]) + "\n"


def _leaves(found: tuple[Value, ...]) -> Iterator[Value]:
    for value in found:
        if value.below:
            yield from _leaves(value.below)
        else:
            yield value


def _default(default: Any) -> str:
    text = json.dumps(default)
    return f"`{text}`" if len(text) <= _LONGEST_DEFAULT else "in values.yaml"


def settings_defaults() -> str:
    """The template that holds the defaults and the profiles of the settings file, and the wrong names of GPS013."""
    return _DEFAULTS.format(
        defaults=json.dumps(_defaults(Configuration), indent=2),
        profiles=json.dumps(PROFILES, indent=2),
        shorthands=json.dumps(dict(_shorthands(Configuration))),
        wrong=json.dumps([name for name in WRONG_NAMES if "/" in name and not name.startswith("nvidia.com/")]),
        guard=json.dumps({"suffix": SUFFIX, "neverWith": NEVER_WITH, "askedWith": ASKED_WITH}, indent=2),
    )


_DEFAULTS = """\
{{{{/* Written by `make charts` from the program's source: do not edit. */}}}}

{{{{/*
The defaults of `config` in JSON. `key[]` holds the defaults of each element of the list `key`, `key{{}}` those of the
section `key` that is null by default.
*/}}}}
{{{{- define "gpushare-webhook.defaults" -}}}}
{defaults}
{{{{- end -}}}}

{{{{/* The values of `config` that each profile sets, in JSON. */}}}}
{{{{- define "gpushare-webhook.profiles" -}}}}
{profiles}
{{{{- end -}}}}

{{{{/* The sections of `config` for which a text may stand: it is the only element of this list of the section. */}}}}
{{{{- define "gpushare-webhook.shorthands" -}}}}
{shorthands}
{{{{- end -}}}}

{{{{/*
Names outside nvidia.com that users write by mistake (GPS013), in JSON. The API server rejects those without a slash.
*/}}}}
{{{{- define "gpushare-webhook.wrongNames" -}}}}
{wrong}
{{{{- end -}}}}

{{{{/* The settings without which there is no guard, and the end of the name of its parameter, in JSON. */}}}}
{{{{- define "gpushare-webhook.guardTable" -}}}}
{guard}
{{{{- end -}}}}
"""


def _defaults(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, one in members(cls).items():
        if is_section(one.hint):
            found[key] = _defaults(one.hint)
        elif one.default is not MISSING:
            found[key] = one.default
            section = bare(one.hint)
            if section is not one.hint and is_section(section):
                found[f"{key}{{}}"] = _defaults(section)
            elif get_origin(section) is tuple and is_section(element := get_args(section)[0]):
                found[f"{key}[]"] = _defaults(element)
    return found


def _shorthands(cls: type) -> Iterator[tuple[str, str]]:
    """The keys that have a shorthand, and what the shorthand stands for."""
    for key, one in members(cls).items():
        if shorthand := one.field.metadata.get("shorthand"):
            yield key, shorthand
        if is_section(section := bare(one.hint)):
            yield from _shorthands(section)


def presets() -> str:
    """The template that holds the kinds of the presets."""
    known = {
        preset.name: {"title": preset.title, "kinds": [_kind(kind) for kind in preset.kinds]} for preset in PRESETS
    }
    return _PRESETS.format(
        presets=json.dumps(known, indent=2), built_in=json.dumps([f"{group}/{kind}" for group, kind in BUILT_IN])
    )


_PRESETS = """\
{{{{/* Written by `make charts` from the program's source: do not edit. */}}}}

{{{{/*
The kinds of each preset, in JSON. `path` leads to the pods of an object, as in `config.workloads.paths`. `holds` is
what stands there, or the parts of a pod that a controller assembles: their path from there, and their form.
*/}}}}
{{{{- define "gpushare-webhook.presets" -}}}}
{presets}
{{{{- end -}}}}

{{{{/* The built-in kinds, which have entries of their own, as GROUP/KIND in JSON. */}}}}
{{{{- define "gpushare-webhook.builtInKinds" -}}}}
{built_in}
{{{{- end -}}}}
"""


def _kind(kind: Kind) -> dict[str, Any]:
    return {
        "group": kind.group,
        "kind": kind.kind,
        "resource": kind.resource,
        "versions": kind.versions,
        "namespaced": kind.namespaced,
        "paths": [{"path": path.path, "holds": _held(path)} for path in kind.paths],
    }


def _held(place: PodPath) -> str | list[dict[str, str]]:
    match place.holds:
        case Assembly() as assembly:
            return [{"path": path, "form": form} for path, form in assembly.requests]
        case whole:
            return whole


def readme() -> str:
    """The README with the table between its marks."""
    before, _, rest = (CHART / "README.md").read_text().partition(_MARK)
    _, _, after = rest.partition(_MARK)
    return f"{before}{_MARK}\n{table()}\n{_MARK}{after}"


def chart() -> str:
    """Chart.yaml with the version of the product, which is also that of the chart."""
    text = (CHART / "Chart.yaml").read_text()
    text = re.sub(r"^(version|appVersion): .+$", rf"\1: {__version__}", text, flags=re.MULTILINE)
    text = re.sub(r"(/prerelease: ).+$", rf'\1"{str("-" in __version__).lower()}"', text, flags=re.MULTILINE)
    return re.sub(r"(image: \S+):\S+$", rf"\1:{__version__}", text, flags=re.MULTILINE)


def files() -> dict[str, str]:
    """The generated files of the chart by name."""
    schema = json.dumps(values_schema(), indent=2)
    return {
        "values.schema.json": schema + "\n",
        "README.md": readme(),
        "Chart.yaml": chart(),
        "templates/_defaults.tpl": settings_defaults(),
        "templates/_presets.tpl": presets(),
        "files/guard.yaml": SPEC.read_text("utf-8"),
        "files/rights.json": json.dumps({name: rules(kinds) for name, kinds in READ.items()}, indent=2) + "\n",
    }


if __name__ == "__main__":
    for name, content in files().items():
        (CHART / name).write_text(content)
