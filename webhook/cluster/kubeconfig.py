"""What is wrong with a kubeconfig, said before the library reads it, in words that name the file and the context."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from webhook.cluster.api_server import UNDECODABLE
from webhook.policy.messages import printable
from webhook.policy.settings.formats import did_you_mean

_NAMED = 8
"""Contexts that a message lists."""

REMEDY = "pass a kubeconfig that kubectl accepts with --kubeconfig or KUBECONFIG"


class KubeconfigError(Exception):
    """A kubeconfig that cannot be used. The message says why, and what to do."""


class _Context(Struct):
    namespace: str | None = None


class _NamedContext(Struct):
    name: str
    context: _Context | None = None


class _Kubeconfig(Struct, rename="kebab"):
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


def location() -> str:
    """Return where kubectl looks without an option: a path, or several that `:` separates."""
    return os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


def contexts(files: str) -> list[str]:
    """Return the names of the contexts in one or several files, separated by `:`. Raises KubeconfigError."""
    return list(_read(files)[0])


def namespace(files: str, context: str | None) -> str | None:
    """Return the namespace of a context, or of the current one for None; None if it sets none, or there is no file."""
    try:
        found, current = _read(files)
    except KubeconfigError:
        return None
    return found.get(current if context is None else context) or None


def verify(files: str, context: str | None) -> None:
    """Check that the files exist and hold the context, or a current context if it is None. Raises KubeconfigError.

    What is wrong inside the context is left to the library, which reads the rest.
    """
    names, current = _read(files)
    wanted = current if context is None else context
    if not wanted:
        choice = f"name one with --context: {_listed(names)}" if names else REMEDY
        raise KubeconfigError(f"{printable(files)}: no current context is set; {choice}")
    if wanted not in names:
        remedy = did_you_mean(wanted, list(names)) or (f"the contexts are {_listed(names)}" if names else REMEDY)
        raise KubeconfigError(f'{printable(files)}: there is no context "{printable(wanted)}"; {remedy}')


def _read(files: str) -> tuple[dict[str, str | None], str]:
    """The namespaces of the contexts by name, and the current context, empty without one. Raises KubeconfigError.

    Some of the files may be missing, as for kubectl. Of several that set a current context, the last counts.
    """
    paths = [Path(path).expanduser() for path in files.split(os.pathsep) if path]
    found = [_kubeconfig(path) for path in paths if path.exists()]
    if not found:
        raise KubeconfigError(f"{printable(files)}: no such file; {REMEDY}")
    named = [one for file in found for one in file.contexts or ()]
    current = [file.current_context for file in found if file.current_context]
    namespaces = {one.name: None if one.context is None else one.context.namespace for one in named}
    return namespaces, current[-1] if current else ""


def _kubeconfig(path: Path) -> _Kubeconfig:
    """The content of one file. Raises KubeconfigError."""
    try:
        # The composer of msgspec.yaml, which is that of libyaml, ends the process at a deep nesting.
        return msgspec.convert(yaml.safe_load(path.read_bytes()), _Kubeconfig)
    except OSError as error:
        raise KubeconfigError(f"{printable(path)}: {(error.strerror or str(error)).lower()}; {REMEDY}") from None
    except (yaml.YAMLError, *UNDECODABLE):
        raise KubeconfigError(f"{printable(path)}: not a kubeconfig; {REMEDY}") from None


def _listed(names: Iterable[str]) -> str:
    shown = [f'"{printable(name)}"' for name in names]
    rest = len(shown) - _NAMED
    return f"{', '.join(shown[:_NAMED])} and {rest} more" if rest > 0 else ", ".join(shown)
