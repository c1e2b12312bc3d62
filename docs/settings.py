"""The pages of the settings file and the facts file, from the dataclasses that they are read into."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any, get_args, get_origin

from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import API_VERSION, KIND, Configuration
from webhook.settings.facts_file import FACTS_KIND
from webhook.settings.members import Member, bare, described, form_of, is_section, members, words
from webhook.settings.profiles import DESCRIPTIONS, PROFILES

_SETTINGS = f"""\
# The settings file

This page lists every key of the settings file, with its values and its default, and the profiles. You may omit any
key, and the file. If no default is listed, lists and mappings are empty, and other keys are null. The
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
    plain = {key: one for key, one in members(Configuration).items() if not is_section(one.hint)}
    return "\n".join([_SETTINGS, "## Top level\n", *_keys(plain, ""), "", *_sections(), _PROFILES, _profiles()])


def facts_page() -> str:
    """Return the page of the facts file."""
    inputs = (Path(__file__).parent / "prose/facts-from-inputs.md").read_text(encoding="utf-8")
    return "\n".join([_FACTS, "## Keys\n", *_keys(members(Facts), ""), "", inputs])


def _sections() -> Iterator[str]:
    for key, one in members(Configuration).items():
        if is_section(one.hint):
            yield f"## {key}\n\n{one.description}\n"
            yield from _keys(members(one.hint), f"{key}.")
            yield ""


def _keys(found: Mapping[str, Member], above: str, switched: str = "") -> Iterator[str]:
    """Yield an item of a list for each key, and for the keys below it.

    `switched` describes the mapping that the key `enabled` switches on, and replaces "Whether to inject it.".
    """
    for name, one in found.items():
        key = above + name
        below = _below(one.hint)
        if is_section(one.hint) and "enabled" in members(one.hint):
            yield from _keys(members(one.hint), f"{key}.", one.description)
            continue
        description = one.description
        if switched and name == "enabled":
            description = f"{switched} {description.partition('. ')[2]}".strip()
        value = _value(name, one)
        told = "" if value and _repeats(description, key) else description
        yield f"- **`{key}`**: {value}{told}".removesuffix("<br>")
        if below is not None:
            yield from _keys(members(below[1]), f"{key}{below[0]}.")


def _repeats(description: str, key: str) -> bool:
    """Whether a description says nothing but the key, as "The taint's key." of `taints[].key` does."""
    words_of = re.findall("[a-z]+", description.lower().replace("'s ", " "))
    return all(word in f"the of {key.lower()}" for word in words_of)


def _below(hint: Any) -> tuple[str, type] | None:
    """The section inside a type, and what leads there."""
    hint = bare(hint)
    if get_origin(hint) is tuple and is_section(element := get_args(hint)[0]):
        return "[]", element
    return ("", hint) if is_section(hint) else None


def _values(hint: Any) -> str:
    inner = bare(hint)
    if inner is not hint:
        return f"{_values(inner)}, or null"
    if get_origin(hint) is tuple:
        element, _ = get_args(hint)
        return "list of mappings" if is_section(element) else f"list: {_values(element)}"
    if is_section(hint):
        return "mapping"
    if form_of(hint) is None and not words(hint) and get_args(hint):
        key, value = map(_values, get_args(hint))
        labels = "a label's key", "a label's value"
        return "labels" if (key, value) == labels else f"mapping of {key} to {value}"
    return _plain(described(hint))


def _value(key: str, one: Member) -> str:
    """Return what a key may have, and its default unless it is null or empty, as the page says of the others.

    A default shows that a value may be true or false. A mapping, and an empty list of mappings, say nothing but the
    keys below them.
    """
    values = _ELSEWHERE.get(key) or _values(one.hint)
    if one.default is MISSING:
        return f"{values}, required.<br>"
    written = json.dumps(one.default, ensure_ascii=False)
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
