"""YAML with a comment behind values, for people who ask where a value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook.diagnostics import LINE
from webhook.policy.printable import printable
from webhook.policy.verdict import Path
from webhook.report.data import yaml_text


def commented_yaml(value: Mapping[str, Any], comments: Mapping[Path, str]) -> str:
    """Return the value as `yaml_text` does, with the comment of each path on the line of its key.

    A path leads through mappings to a value that is not a mapping with keys.
    """
    return "".join(f"{line}\n" for line in _lines(value, comments, ()))


def _lines(value: Mapping[str, Any], comments: Mapping[Path, str], above: Path) -> Iterator[str]:
    for key, one in value.items():
        path = (*above, key)
        if isinstance(one, Mapping) and one:
            yield yaml_text({key: None}).removesuffix(" null\n")
            yield from (f"  {line}" for line in _lines(one, comments, path))
        else:
            lines = yaml_text({key: one}).splitlines()
            if path in comments:
                # A comment within a text of several lines would be a part of it.
                lines[-1 if isinstance(one, str) else 0] += f"  # {printable(comments[path], LINE)}"
            yield from lines
