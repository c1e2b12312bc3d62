"""The settings file and the facts file of a run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias, TypeVar

from webhook.diagnostics import Diagnostic, InputError, Listing, Locate
from webhook.manifests import Document, documents, source
from webhook.manifests.recognition import OUR_FILE
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.placement.node_bounds import Decisive
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from webhook.settings.configuration import Configuration
    from webhook.settings.options import Option

VARIABLE = "GPUSHARE_CONFIG"
"""The environment variable that names a settings file."""

FILE = OUR_FILE
"""The settings file of a repository: in the working directory, or in a folder above it within the repository."""


class SettingsFile(NamedTuple):
    """A settings file, and how it was found; empty for an option, which the user sees."""

    file: str
    found: str = ""

    def __str__(self) -> str:
        return f"{self.file}, {self.found}" if self.found else self.file


def settings_file(option: str | None) -> SettingsFile | None:
    """Return the settings file that applies; None if none is named or found."""
    if option is not None:
        return SettingsFile(option)
    if given := os.environ.get(VARIABLE):
        return SettingsFile(given, f"named by {VARIABLE}")
    # Outside a repository only the folder itself counts: a file of another user in /tmp must not apply.
    found = next((file for folder in up_to_root(Path.cwd()) if (file := folder / FILE).is_file()), None)
    return None if found is None else SettingsFile(os.path.relpath(found), "found in this repository")


def up_to_root(folder: Path) -> list[Path]:
    """Return a folder and those above it up to the root of its repository; the folder alone if it is in none."""
    folders = [folder, *folder.parents]
    root = next((index for index, one in enumerate(folders) if (one / ".git").exists()), 0)
    return folders[: root + 1]


def configuration(file: str | None, options: Sequence[Option] = ()) -> Configuration:
    """Return the configuration of a settings file, overridden by the options. Raises InputError."""
    from webhook.settings.load import load

    return parse(*content(file), partial(load, options=options))


def chosen_settings(file: str | None, options: Sequence[Option]) -> tuple[Settings, bool]:
    """Return the settings of a file, overridden by the options, and whether they say how GPUs are shared.

    Raises InputError.
    """
    if file is None and not options:
        return Settings(), False
    from webhook.settings.load import SHARING, load

    def loaded(value: object, locate: Locate, file: str) -> tuple[Settings, bool]:
        held = load(value, locate, file, options)
        keys = (option.section or option.key for option in options)
        return held.settings, not SHARING.isdisjoint((*(value if isinstance(value, dict) else ()), *keys))

    return parse(*content(file), loaded)


def read_facts(file: str | None, settings: Settings) -> Facts:
    """Return the facts of a facts file for these settings; without a file all facts are unknown. Raises InputError."""
    if file is None:
        return UNKNOWN
    from webhook.settings.load import load_facts

    return parse(*content(file), partial(load_facts, decisive=Decisive.of(settings)))


Loaded = TypeVar("Loaded")
Load: TypeAlias = Callable[[object, Locate, str], Loaded]
"""Loads the value of a document, with its positions and the name of its file. Raises InputError."""


def parse(file: str, data: bytes, load: Load[Loaded]) -> Loaded:
    """Return the content of a settings or facts file of one document. Raises InputError."""
    listing, diagnostics = Listing(), list[Diagnostic]()
    whole: list[Document] = []
    for one in documents(file, data):
        if isinstance(one, Diagnostic):
            diagnostics += listing.add(one)
        elif len(whole) < 2:
            whole.append(one)
    diagnostics += listing.end()
    if len(whole) > 1:
        diagnostics.append(Diagnostic(file, *whole[1].locate(()), "a second document; this file may hold only one"))
    elif whole and isinstance(value := whole[0].value, dict) and "config" in value:
        message = "the chart's values: pass their `config:` part as a file of its own"
        diagnostics.append(Diagnostic(file, *whole[0].locate(("config",)), message))
    if diagnostics:
        raise InputError(diagnostics)
    if whole:
        return load(whole[0].value, whole[0].locate, file)
    return load(None, lambda _: (1, 1), file)  # everything in an empty file is at its start


def content(file: str | None) -> tuple[str, bytes]:
    """Return the name of a settings or facts file in messages, and its bytes; nothing for None. Raises InputError."""
    if file is None:
        return "", b""
    found = source(file, standard_input())
    if isinstance(found, Diagnostic):
        raise InputError([found])
    return found.file, found.data


def standard_input() -> BinaryIO:
    """Return standard input; an empty stream where it is closed."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer
