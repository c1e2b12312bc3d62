"""The entry of `workloads.paths` with which the settings would know a place that a search found."""

from __future__ import annotations

import re

from webhook.policy.verdict import Path
from webhook.policy.workloads.paths import Whole

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}", re.ASCII)
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}", re.ASCII)
_GROUP = re.compile(r"[a-z0-9.-]{0,253}", re.ASCII)


def entry(group: str, kind: str, path: Path, holds: Whole) -> str | None:
    """The entry in YAML; None if the settings cannot write the group, the kind or the path."""
    steps = _written(path)
    if steps is None or not _KIND.fullmatch(kind) or not _GROUP.fullmatch(group):
        return None
    of_group = f"group: {group}, " if group else ""
    what = "" if holds == "template" else f", holds: {holds}"
    return f'{{{of_group}kind: {kind}, path: "{steps}"{what}}}'


def _written(path: Path) -> str | None:
    """A path as the settings write it, with `[*]` for each index of a list."""
    written = ""
    for step in path:
        if isinstance(step, int):
            if not written or written.endswith("[*]"):
                return None
            written += "[*]"
        elif _KEY.fullmatch(step):
            written += f".{step}" if written else step
        else:
            return None
    return written or None
