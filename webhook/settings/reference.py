"""The reference pages of the settings file and the facts file, written from the shapes that read them.

Run as `python -m webhook.settings.reference FOLDER` it writes both pages there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from webhook.policy.placement.facts import Facts
from webhook.settings.configuration import API_VERSION, DOCUMENT, KIND
from webhook.settings.profiles import PROFILES, SAYS
from webhook.settings.reading import FACTS_KIND
from webhook.settings.shape import MISSING, Leaf, Listing, Member, Nullable, Section, Shape, Table, section, write

_WRITTEN = "<!-- Written by `python -m webhook.settings.reference docs/reference`; edit the code, not this page. -->"

_SETTINGS = f"""\
# The settings file

{_WRITTEN}

YAML or JSON. Everything may be omitted, the file too; `apiVersion` and `kind` are checked when they are there:

```yaml
apiVersion: {API_VERSION}
kind: {KIND}
```

An unknown key or a wrong value refuses the whole file, and all problems are told at once, each with file, line and key.
Durations are text with units: `5s`, `1h30m`, `500ms`. Sizes are text with units, `7Mi`, or a number of bytes.

*Later* marks keys that are accepted and checked, but not in force in this release: setting them changes nothing yet,
and the server says so when it starts.

`gpushare-webhook config view` prints the effective settings, `config validate` checks a file, and `config schema`
prints a JSON Schema for editors.
"""

_PROFILES = """\
## Profiles

A profile sets values together. They lie below the file's own keys: mappings are merged at every depth, lists and
`placement.mpsLabels` are replaced.
"""

_FACTS = f"""\
# The facts file

{_WRITTEN}

What is known about a cluster, for `--facts`. A part that is missing or null is unknown; an empty list is known to be
empty, and that is not the same. `apiVersion` and `kind` may be omitted and are checked when they are there. Names must
not repeat within a list.

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
    """The page of the settings file."""
    plain = [member for member in DOCUMENT.members if not _is_section(member)]
    parts = [_SETTINGS, "## Top level\n", _table(_rows(plain, "")), *_sections(DOCUMENT), _PROFILES, _profiles()]
    return "\n".join(parts)


def facts_page() -> str:
    """The page of the facts file."""
    return "\n".join([_FACTS, "## Keys\n", _table(_rows(section(Facts).members, ""))])


def _sections(document: Section) -> Iterator[str]:
    for member in document.members:
        if isinstance(member.shape, Section):
            yield f"## {member.key}\n\n{member.says}\n"
            yield _table(_rows(member.shape.members, f"{member.key}."))


def _rows(members: Iterable[Member], above: str) -> Iterator[tuple[str, ...]]:
    for member in members:
        key = above + member.key
        says = f"{member.says} *Later.*" if member.later else member.says
        yield f"`{key}`", _values(member.shape), _default(member), says
        below = _below(member.shape)
        if below is not None:
            yield from _rows(below[1].members, f"{key}{below[0]}.")


def _is_section(member: Member) -> bool:
    return isinstance(member.shape, Section)


def _below(shape: Shape) -> tuple[str, Section] | None:
    """The section inside a shape, and what leads there."""
    match shape:
        case Section():
            return "", shape
        case Nullable(inner):
            return _below(inner)
        case Listing(Section() as element):
            return "[]", element
    return None


def _values(shape: Shape) -> str:
    match shape:
        case Leaf(form):
            return _plain(form.noun)
        case Nullable(inner):
            return f"{_values(inner)}, or null"
        case Listing(element):
            return "list of mappings, keys below" if isinstance(element, Section) else f"list: {_values(element)}"
        case Table(key, value):
            return f"mapping of {_plain(key.noun)} to {_values(value)}"
        case Section():
            return "mapping, keys below"


def _default(member: Member) -> str:
    if _is_section(member):
        return ""
    if member.default is MISSING:
        return "*required*"
    return f"`{json.dumps(write(member.shape, member.default), ensure_ascii=False)}`"


def _profiles() -> str:
    values = [(name, _flat(PROFILES[name], "")) for name in SAYS]
    rows = [
        (f"`{name}`", SAYS[name], "<br>".join(f"`{key}: {json.dumps(value)}`" for key, value in set_) or "nothing")
        for name, set_ in values
    ]
    return _table(rows, ("profile", "for", "sets"))


def _flat(values: Any, above: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict) and value and key != "mpsLabels":
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _table(rows: Iterable[tuple[str, ...]], head: tuple[str, ...] = ("key", "value", "default", "what it says")) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    return text.replace("*", r"\*")


def main(folder: Path) -> None:
    """Write both pages into a folder."""
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")
    (folder / "facts.md").write_text(facts_page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
