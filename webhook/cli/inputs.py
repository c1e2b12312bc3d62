"""Inputs of a command: the manifests that `-f` names, and what `--config` and `--facts` describe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from webhook.cli.batches import Found, answered, entries, one_by_one
from webhook.cli.screen import tell
from webhook.diagnostics import Diagnostic, InputError, Listing, Unread
from webhook.manifests import Document, Manifest, Reading, Reason, Source, documents, objects, source, sources, whole
from webhook.policy.placement.facts import UNKNOWN, Facts
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from webhook.cli.options import Inputs
    from webhook.settings.configuration import Configuration
    from webhook.settings.options import Option


def manifests(inputs: Inputs) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield all manifests in order, a diagnostic for each part that cannot be read, and what is skipped."""
    return _manifests(inputs, found(inputs, whole))


def applied(inputs: Inputs) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield the same without kustomizations and the files that they merge into objects: these are not applied."""
    return _manifests(inputs, map(_unless_part, found(inputs, whole)))


def _manifests(inputs: Inputs, given: Iterable[Found]) -> Iterator[Manifest | Diagnostic | Unread]:
    return entries(inputs, map(partial(answered, objects), one_by_one(given)))


def _unless_part(one: Found) -> Found:
    return Reason.PART.skips(one.file) if isinstance(one, Source) and one.is_part else one


def found(inputs: Inputs, reading: Reading) -> Iterator[Found]:
    """Yield what the options of a command name."""
    return sources(
        inputs.names,
        _standard_input(),
        lambda notice: tell(str(notice)),
        inputs.exclude,
        reading,
        as_in_folder=inputs.force_exclude,
    )


def _standard_input() -> BinaryIO:
    """Return standard input; an empty stream where it is closed."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def configuration(file: str | None, options: Sequence[Option] = ()) -> Configuration:
    """Return the configuration of a settings file, overridden by the options. Raises InputError."""
    from webhook.settings.load import load

    return load(None, _nowhere, "", options) if file is None else parse(*content(file), partial(load, options=options))


def read_facts(file: str | None, settings: Settings) -> Facts:
    """Return the facts of a facts file for these settings; without a file all facts are unknown. Raises InputError."""
    if file is None:
        return UNKNOWN
    from webhook.policy.placement.decisive import Decisive
    from webhook.settings.load import load_facts

    return parse(*content(file), partial(load_facts, decisive=Decisive.of(settings)))


Loaded = TypeVar("Loaded")
Load: TypeAlias = Callable[[object, Callable[..., tuple[int, int]], str], Loaded]
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
    return load(whole[0].value, whole[0].locate, file) if whole else load(None, _nowhere, file)


def content(file: str) -> tuple[str, bytes]:
    """Return the name of a settings or facts file in messages, and its bytes. Raises InputError."""
    found = source(file, _standard_input())
    if isinstance(found, Diagnostic):
        raise InputError([found])
    return found.file, found.data


def _nowhere(_path: tuple[str | int, ...]) -> tuple[int, int]:
    """Return the position of everything in an empty file."""
    return 1, 1
