"""The pages of the settings file and the facts file, from the schema trees that validate them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from webhook.settings.configuration import API_VERSION, KIND, SETTINGS_FILE
from webhook.settings.facts_file import FACTS_FILE, FACTS_KIND
from webhook.settings.profiles import DESCRIPTIONS, PROFILES
from webhook.settings.schema_tree import MISSING, Array, Field, Map, Node, Nullable, Object, Scalar, write

_SETTINGS = f"""\
# The settings file

This page lists every key of the settings file, with its values and its default, and the profiles. You may omit any
key, and the file. Without a default, a list and a mapping to further values are empty, and any other key is null. The
file is YAML or JSON:

```yaml
apiVersion: {API_VERSION}
kind: {KIND}
```

One unknown key or wrong value rejects the whole file. Durations are text such as `5s`, `1h30m` or `500ms`, sizes text
such as `7Mi` or a number of bytes.

`gpushare-webhook config view` prints the effective settings and their origins, `config validate` checks a file, and
`config schema` prints a JSON Schema for editors.
"""

_PROFILES = """\
## Profiles

A profile sets values together. The keys of the file override them: mappings are merged at every depth, lists and
`placement.mpsLabels` are replaced.
"""

_FACTS = f"""\
# The facts file

This page lists every key of the file that describes a cluster for `--facts`, and says which facts `check` reads from
its inputs. A part that is missing or null is unknown; an empty list is known to be empty. In a node
or a configuration, a missing list is empty. `gpushare-webhook snapshot` writes the facts of a cluster.

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
        if isinstance(field.node, Object) and field.node.fields[0].key == "enabled":
            yield from _keys(_switched(field.description, *field.node.fields), f"{key}.")
            continue
        value = _value(field)
        told = "" if value and _repeats(field.description, key) else field.description
        yield f"- **`{key}`**: {value}{told}".removesuffix("<br>")
        below = _below(field.node)
        if below is not None:
            yield from _keys(below[1].fields, f"{key}{below[0]}.")


def _repeats(description: str, key: str) -> bool:
    """Whether a description says nothing but the key, as "The taint's key." of `taints[].key` does."""
    words = re.findall("[a-z]+", description.lower().replace("'s ", " "))
    return all(word in f"the of {key.lower()}" for word in words)


def _switched(description: str, enabled: Field, *others: Field) -> Iterator[Field]:
    """Yield the keys of a mapping that `enabled` switches on: its description replaces "Whether to inject it."."""
    further = enabled.description.partition(". ")[2]
    yield replace(enabled, description=f"{description} {further}".strip())
    yield from others


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
            named = f"mapping of {_values(key)} to {_values(value)}"
            return "labels" if named == "mapping of a label's key to a label's value" else named
        case Object():
            return "mapping"


def _value(field: Field) -> str:
    """Return what a key may have, and its default unless it is null or empty, as the page says of the others.

    A default shows that a value may be true or false. A mapping, and an empty list of mappings, say nothing but the
    keys below them.
    """
    values = _ELSEWHERE.get(field.key) or _values(field.node)
    if field.default is MISSING:
        return f"{values}, required.<br>"
    written = json.dumps(write(field.node, field.default), ensure_ascii=False)
    obvious = values.removesuffix(", or null") if written == "null" else values
    if obvious == "mapping" or (obvious == "list of mappings" and written == "[]"):
        return ""
    if written in ("null", "[]", "{}"):
        return f"{obvious}.<br>"
    default = f"default `{written}`.<br>"
    return default if obvious == "true or false" else f"{obvious}; {default}"


_ELSEWHERE = {"presets": "list: `all`, or names from [Workloads](workloads.md)"}
"""The values of keys that another page lists."""


def _profiles() -> str:
    values = [(name, _flat(PROFILES[name], "")) for name in DESCRIPTIONS]
    lines = {
        name: [DESCRIPTIONS[name], *(f"`{key}: {json.dumps(value)}`" for key, value in pairs)] for name, pairs in values
    }
    return "".join(f"- **`{name}`**: {'<br>'.join(told)}\n" for name, told in lines.items())


def _flat(values: Any, above: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key != "mpsLabels":
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _plain(text: str) -> str:
    """Return the description of a format without examples and details, which messages need."""
    return re.sub(_OMITTED, "", text).replace("*", r"\*")


_OMITTED = (
    r" such as .+?(?=, in which|$)| that is not empty| to \d{10,}$| above zero| below / without .+$"
    r"|: lowercase letters, [a-z, ]+$| \(GPS\d+ to GPS\d+\)"
)
