"""The pages of the settings file and the facts file, from the schema trees that validate them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docs.command_line import table
from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.profiles import DESCRIPTIONS, PROFILES
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, write

_WRITTEN = "Generated from the code by `make docs`."

_SETTINGS = f"""\
# The settings file

{_WRITTEN}

YAML or JSON. You may omit any key, and the file itself; `apiVersion` and `kind` are validated when present:

```yaml
apiVersion: {API_VERSION}
kind: {KIND}
```

One unknown key or wrong value rejects the whole file. All problems are reported at once, each with file, line and key.
Durations are text with units: `5s`, `1h30m`, `500ms`. Sizes are text with units, `7Mi`, or a number of bytes.

`gpushare-webhook config view` prints the effective settings and where each comes from, `config validate` checks a file,
and `config schema` prints a JSON Schema for editors. [Workloads](workloads.md) lists the kinds of `workloads.presets`.
"""

_HEAD = ("key", "value", "default", "description")

_PROFILES = """\
## Profiles

A profile sets values together. The keys of the file override them: mappings are merged at every depth, lists and
`placement.mpsLabels` are replaced.
"""

_FACTS = f"""\
# The facts file

{_WRITTEN}

What is known about a cluster, for `--facts`. A part that is missing or null is unknown; an empty list is known to be
empty, which is different. You may omit `apiVersion` and `kind`; they are validated when present. Names must be unique
within a list. `gpushare-webhook snapshot` writes the facts of a cluster, and `config schema facts` prints a JSON Schema
for editors.

```yaml
apiVersion: {API_VERSION}
kind: {FACTS_KIND}
nodes:
  - name: gpu-1
    labels: {{nvidia.com/mps.capable: "true", nvidia.com/gpu.sharing-strategy: mps}}
    taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]
    resources: {{nvidia.com/gpu: 10}}
namespaces:
  - {{name: team-a, labels: {{pod-security.kubernetes.io/enforce: baseline}}}}
runtimeClasses:
  - {{name: nvidia, handler: nvidia, nodeSelector: {{}}}}
devicePlugin: {{failRequestsGreaterThanOne: true}}
```
"""


def settings_page() -> str:
    """Return the page of the settings file."""
    plain = [field for field in SETTINGS_FILE.fields if not isinstance(field.node, Object)]
    return "\n".join(
        [_SETTINGS, "## Top level\n", table(_HEAD, _rows(plain, "")), *_sections(), _PROFILES, _profiles()]
    )


def facts_page() -> str:
    """Return the page of the facts file."""
    inputs = (Path(__file__).parent / "prose/facts-from-inputs.md").read_text(encoding="utf-8")
    return "\n".join([_FACTS, "## Keys\n", table(_HEAD, _rows(FACTS_FILE.fields, "")), inputs])


def _sections() -> Iterator[str]:
    for field in SETTINGS_FILE.fields:
        if isinstance(field.node, Object):
            yield f"## {field.key}\n\n{field.description}\n"
            yield table(_HEAD, _rows(field.node.fields, f"{field.key}."))


def _rows(fields: Iterable[Field], above: str) -> Iterator[tuple[str, ...]]:
    for field in fields:
        key = above + field.key
        yield f"`{key}`", _values(field.node), _default(field), field.description
        below = _below(field.node)
        if below is not None:
            yield from _rows(below[1].fields, f"{key}{below[0]}.")


def _below(node: Node) -> tuple[str, Object] | None:
    """The object inside a node, and what leads there."""
    match node:
        case Object():
            return "", node
        case Nullable(inner):
            return _below(inner)
        case Array(Object() as element):
            return "[]", element
    return None


def _values(node: Node) -> str:
    match node:
        case Scalar(form):
            return _plain(form.description)
        case Nullable(inner):
            return f"{_values(inner)}, or null"
        case Array(element):
            return "list of mappings, keys below" if isinstance(element, Object) else f"list: {_values(element)}"
        case Map(key, value):
            return f"mapping of {_values(key)} to {_values(value)}"
        case Object():
            return "mapping, keys below"


def _default(field: Field) -> str:
    if isinstance(field.node, Object):
        return ""
    if field.default is MISSING:
        return "*required*"
    return f"`{json.dumps(write(field.node, field.default), ensure_ascii=False)}`"


def _profiles() -> str:
    values = [(name, _flat(PROFILES[name], "")) for name in DESCRIPTIONS]
    rows = [
        (
            f"`{name}`",
            DESCRIPTIONS[name],
            "<br>".join(f"`{key}: {json.dumps(value)}`" for key, value in pairs) or "nothing",
        )
        for name, pairs in values
    ]
    return table(("profile", "for", "sets"), rows)


def _flat(values: Any, above: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key != "mpsLabels":
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _plain(text: str) -> str:
    return text.replace("*", r"\*")
