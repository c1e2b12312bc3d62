"""Inputs of a command: the manifests that `-f` names, and what `--config` and `--facts` describe."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from webhook.diagnostics import Diagnostic, InputError, Unread
from webhook.manifests import (
    STDIN,
    Document,
    Manifest,
    Source,
    documents,
    has_documents,
    is_pipe,
    objects,
    source,
    sources,
)
from webhook.policy.placement.facts import UNKNOWN, Facts

if TYPE_CHECKING:
    from webhook.cli.options import Inputs
    from webhook.settings.configuration import Configuration
    from webhook.settings.options import Option


def manifests(inputs: Inputs) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield all manifests of the inputs in order, a diagnostic for each part that cannot be read, and what is skipped.

    The output of another command without a document is an error, since the command has probably failed. A file or
    folder may be empty unless all inputs are, or a check of nothing would pass. A list without items is a document.
    """
    empty: list[str] = []
    unread: Counter[str] = Counter()
    all_empty = True
    for given in sources(inputs.names, inputs.recursive, _standard_input(), inputs.exclude):
        found = False
        for one in objects(given) if isinstance(given, Source) else (given,):
            found = True
            if isinstance(one, Unread):
                unread[one.reason] += 1
            else:
                all_empty = False
            yield one
        if not found and isinstance(given, Source):
            if has_documents(given.data):
                all_empty = False
            else:
                empty.append(given.file)
    for file in empty:
        if is_pipe(file):
            yield Diagnostic(file, 0, 0, _EMPTY_INPUT if file == STDIN else _EMPTY_PIPE)
        elif all_empty:
            yield Diagnostic(file, 0, 0, _EMPTY_FILE)
    if all_empty and unread and not empty:
        yield Diagnostic(inputs.names[0], 0, 0, _nothing_read(unread))


_EMPTY_INPUT = "standard input holds no object; did the command before the pipe fail?"
_EMPTY_PIPE = "this pipe holds no object; did the command that writes it fail?"
_EMPTY_FILE = "no object in this file, nor in any other input"


def _nothing_read(unread: Counter[str]) -> str:
    counts = ", ".join(f"{count} {reason}" for reason, count in unread.most_common())
    return f"no object here, nor in any other input; not read: {counts}"


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
