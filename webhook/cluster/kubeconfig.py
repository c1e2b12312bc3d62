"""What is wrong with a kubeconfig, said before the library reads it, in words that name the file and the context."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from webhook.policy.messages import printable
from webhook.policy.settings.formats import did_you_mean

_NAMED = 8
"""Contexts that a message lists."""

REMEDY = "pass a kubeconfig that kubectl accepts with --kubeconfig or KUBECONFIG"


class KubeconfigError(Exception):
    """A kubeconfig that cannot be used. The message says why, and what to do."""


def location() -> str:
    """Return where kubectl looks without an option: a path, or several that `:` separates."""
    return os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


def contexts(files: str) -> list[str]:
    """Return the names of the contexts in one or several files, separated by `:`. Raises KubeconfigError."""
    return [name for one in _read(files) for name in _names(one)]


def namespace(files: str, context: str | None) -> str | None:
    """Return the namespace of a context, or of the current one for None; None if it sets none, or there is no file."""
    try:
        found = _read(files)
    except KubeconfigError:
        return None
    wanted = _current(found) if context is None else context
    listed = [one for content in found for one in content.get("contexts") or () if isinstance(one, Mapping)]
    held = next((one.get("context") for one in listed if one.get("name") == wanted), None)
    name = held.get("namespace") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) and name else None


def verify(files: str, context: str | None) -> None:
    """Check that the files exist and hold the context, or a current context if it is None. Raises KubeconfigError.

    What is wrong inside the context is left to the library, which reads the rest.
    """
    found = _read(files)
    names = [name for one in found for name in _names(one)]
    wanted = _current(found) if context is None else context
    if wanted is None:
        choice = f"name one with --context: {_listed(names)}" if names else REMEDY
        raise KubeconfigError(f"{printable(files)}: no current context is set; {choice}")
    if wanted not in names:
        remedy = did_you_mean(str(wanted), names) or (f"the contexts are {_listed(names)}" if names else REMEDY)
        raise KubeconfigError(f'{printable(files)}: there is no context "{printable(wanted)}"; {remedy}')


def _current(found: list[Mapping[str, Any]]) -> Any:
    """The current context: of several files, the last that sets one counts; None without one."""
    return next((one["current-context"] for one in reversed(found) if one.get("current-context")), None)


def _read(files: str) -> list[Mapping[str, Any]]:
    """Read the files, of which some may be missing, as for kubectl. Raises KubeconfigError."""
    paths = [Path(path).expanduser() for path in files.split(os.pathsep) if path]
    found = [_mapping(path) for path in paths if path.exists()]
    if not found:
        raise KubeconfigError(f"{printable(files)}: no such file; {REMEDY}")
    return found


def _mapping(path: Path) -> Mapping[str, Any]:
    """The content of one file. Raises KubeconfigError."""
    try:
        content = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise KubeconfigError(f"{printable(path)}: {(error.strerror or str(error)).lower()}; {REMEDY}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise KubeconfigError(f"{printable(path)}: not YAML; {REMEDY}") from None
    if not isinstance(content, Mapping):
        raise KubeconfigError(f"{printable(path)}: not a kubeconfig; {REMEDY}")
    return content


def _names(content: Mapping[str, Any]) -> list[str]:
    listed = content.get("contexts")
    named = [one.get("name") for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return [name for name in named if isinstance(name, str)]


def _listed(names: list[str]) -> str:
    shown = ", ".join(f'"{printable(name)}"' for name in names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
