"""Inputs of a command: the manifests that `-f` names, and what `--config` and `--facts` describe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.manifests import STDIN, Document, Manifest, Source, documents, has_documents, read, source, sources
from webhook.policy.placement.facts import UNKNOWN, Facts

if TYPE_CHECKING:
    from webhook.cli.options import Inputs
    from webhook.settings.configuration import Configuration
    from webhook.settings.options import Option


def manifests(inputs: Inputs) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield all manifests of the inputs in order, and a diagnostic for each part that cannot be read.

    Standard input without a document is an error, since the command that writes it has probably failed. A file or
    folder may be empty unless all inputs are, or a check of nothing would pass. A list without items is a document.
    """
    empty: list[str] = []
    all_empty = True
    for given in sources(inputs.names, inputs.recursive, _standard_input()):
        if not isinstance(given, Source):
            all_empty = False
            yield given
            continue
        found = False
        for manifest in read(given.file, given.data):
            found = True
            yield manifest
        if found or has_documents(given.data):
            all_empty = False
        else:
            empty.append(given.file)
    for file in empty:
        if all_empty or file == STDIN:
            yield Diagnostic(file, 0, 0, _EMPTY_INPUT if file == STDIN else _EMPTY_FILE)


_EMPTY_INPUT = "standard input holds no object; did the command before the pipe fail?"
_EMPTY_FILE = "no object in this file, nor in any other input"


def _standard_input() -> BinaryIO:
    """Return standard input; an empty stream where it is closed."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def configuration(file: str | None, options: Sequence[Option] = ()) -> Configuration:
    """Return the configuration of a settings file, overridden by the options. Raises InputError."""
    from webhook.settings.load import load

    return load(None, _nowhere, "", options) if file is None else parse(*content(file), partial(load, options=options))


def read_facts(file: str | None) -> Facts:
    """Return the facts of a facts file; without a file all facts are unknown. Raises InputError."""
    if file is None:
        return UNKNOWN
    from webhook.settings.load import load_facts

    return parse(*content(file), load_facts)


Loaded = TypeVar("Loaded")
Load: TypeAlias = Callable[[object, Callable[..., tuple[int, int]], str], Loaded]
"""Loads the value of a document, with its positions and the name of its file. Raises InputError."""


def parse(file: str, data: bytes, load: Load[Loaded]) -> Loaded:
    """Return the content of a settings or facts file of one document. Raises InputError."""
    read = list(documents(file, data))
    diagnostics = [one for one in read if isinstance(one, Diagnostic)]
    whole = [one for one in read if isinstance(one, Document)]
    if len(whole) > 1:
        diagnostics.append(Diagnostic(file, *whole[1].locate(()), "a second document; this file may hold only one"))
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
