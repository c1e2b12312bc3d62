"""YAML with comments, such as the origins of the values of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Path
from webhook.report.data import yaml_text


@dataclass(frozen=True, slots=True)
class Comments:
    """Comments on values by path, which leads through mappings to a value that is not a mapping with keys.

    `beside` stand on the line of the key, `below` on lines of their own after the value.
    """

    beside: Mapping[Path, str]
    below: Mapping[Path, Sequence[str]]


def commented_yaml(value: Mapping[str, Any], comments: Comments) -> str:
    """Return the value as `yaml_text` does, with comments."""
    return "".join(f"{line}\n" for line in _lines(value, comments, ()))


def _lines(value: Mapping[str, Any], comments: Comments, above: Path) -> Iterator[str]:
    for key, one in value.items():
        path = (*above, key)
        if isinstance(one, Mapping) and one:
            yield yaml_text({key: None}).removesuffix(" null\n")
            yield from (f"  {line}" for line in _lines(one, comments, path))
            continue
        lines = yaml_text({key: one}).splitlines()
        if path in comments.beside:
            # A comment within a text of several lines would be a part of it.
            lines[-1 if isinstance(one, str) else 0] += f"  {_comment(comments.beside[path])}"
        yield from lines
        yield from map(_comment, comments.below.get(path, ()))


def _comment(text: str) -> str:
    return f"# {printable(text, LINE)}"
