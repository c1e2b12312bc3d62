"""The pages of the settings file and the facts file, from the schema trees that validate them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docs.command_line import table
from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.profiles import DESCRIPTIONS, PROFILES
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, write

_SETTINGS = f"""\
# The settings file

This page lists every key of the settings file, with its values and its default, and the profiles. You may omit any key,
and the file, which is YAML or JSON:

```yaml
apiVersion: {API_VERSION}
kind: {KIND}
```

One unknown key or wrong value rejects the whole file; all problems are reported at once, with file, line and key.
Durations are text such as `5s`, `1h30m` or `500ms`, sizes text such as `7Mi` or a number of bytes.

`gpushare-webhook config view` prints the effective settings and where each comes from, `config validate` checks a file,
and `config schema` prints a JSON Schema for editors.
"""

_PROFILES = """\
## Profiles

A profile sets values together. The keys of the file override them: mappings are merged at every depth, lists and
`placement.mpsLabels` are replaced.
"""

_FACTS = f"""\
# The facts file

This page lists every key of the file that describes a cluster for `--facts`, and says which facts `check` reads from
its inputs. A part that is missing or null is unknown; an empty list is known to be empty. `gpushare-webhook snapshot`
writes the facts of a cluster.

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
    return "\n".join([_SETTINGS, "## Top level\n", *_keys(plain, ""), "", *_sections(), _PROFILES, _profiles()])


def facts_page() -> str:
    """Return the page of the facts file."""
    inputs = (Path(__file__).parent / "prose/facts-from-inputs.md").read_text(encoding="utf-8")
    return "\n".join([_FACTS, "## Keys\n", *_keys(FACTS_FILE.fields, ""), "", inputs])


def _sections() -> Iterator[str]:
    for field in SETTINGS_FILE.fields:
        if isinstance(field.node, Object):
            yield f"## {field.key}\n\n{field.description}\n"
            yield from _keys(field.node.fields, f"{field.key}.")
            yield ""


def _keys(fields: Iterable[Field], above: str) -> Iterator[str]:
    """Yield an item of a list for each key, and for the keys below it."""
    for field in fields:
        key = above + field.key
        value = "" if isinstance(field.node, Object) else f"{_value(field)}.<br>"
        yield f"- **`{key}`**: {value}{field.description}"
        below = _below(field.node)
        if below is not None:
            yield from _keys(below[1].fields, f"{key}{below[0]}.")


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
            return "list of mappings" if isinstance(element, Object) else f"list: {_values(element)}"
        case Map(key, value):
            return f"mapping of {_values(key)} to {_values(value)}"
        case Object():
            return "mapping"


def _value(field: Field) -> str:
    """Return what a key may have, and its default, which shows that a value may be true, false or null."""
    values = _values(field.node)
    if field.default is MISSING:
        return f"{values}, required"
    default = f"default `{json.dumps(write(field.node, field.default), ensure_ascii=False)}`"
    obvious = values.removesuffix(", or null") if default == "default `null`" else values
    return default if obvious == "true or false" and default != "default `null`" else f"{obvious}; {default}"


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
    """Return the description of a format without examples and the bounds of integers, which messages need."""
    return re.sub(_OMITTED, "", text).replace("*", r"\*")


_OMITTED = r" such as .+?(?=, in which|$)| that is not empty| to \d{10,}$"
