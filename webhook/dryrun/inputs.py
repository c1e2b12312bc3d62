"""The inputs of a run: files, folders and standard input, and what they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from webhook.diagnostics import Diagnostic, Entry, Unread, tallied
from webhook.dryrun.files import standard_input
from webhook.manifests import (
    STDIN,
    Builds,
    Manifest,
    Reading,
    Reason,
    Source,
    documents,
    is_pipe,
    objects,
    sources,
    whole,
)


class Inputs(NamedTuple):
    """The manifests that options name: files, folders and `-`, and the namespace of objects that name none.

    `exclude` holds patterns of paths that are not read, as in .gitignore. With `force_exclude`, named files are treated
    like those of a folder.
    """

    names: tuple[str, ...]
    exclude: tuple[str, ...]
    force_exclude: bool
    namespace: str


Input: TypeAlias = Source | Builds
"""A file, or what kustomizations build."""

Found: TypeAlias = Input | Unread | Diagnostic
"""An input, a file that is not read, or an error."""


def contents(given: Input) -> Iterable[tuple[str, bytes]]:
    """Return the names and the bytes of the files of an input."""
    return ((given.file, given.data),) if isinstance(given, Source) else given.contents


Notify: TypeAlias = Callable[[Diagnostic], object]


def applied(inputs: Inputs, notify: Notify) -> Iterator[Manifest | Diagnostic | Unread]:
    """Yield the manifests in order, a diagnostic for each part that cannot be read, and what is skipped.

    Kustomizations, and the files that they merge into objects, are left out: nothing applies them.
    """
    names, stdin = inputs.names, standard_input()
    given = sources(names, stdin, notify, inputs.exclude, whole, as_in_folder=inputs.force_exclude)
    apart = (Reason.PART.skips(one.file) if isinstance(one, Source) and one.is_part else one for one in given)
    return entries(inputs, objects, apart)


def found(inputs: Inputs, reading: Reading, notify: Notify) -> Iterator[Found]:
    """Yield the files that the inputs name, and what their kustomizations build.

    `notify` gets what a user should know, although it is no error.
    """
    names, stdin, as_in_folder = inputs.names, standard_input(), inputs.force_exclude
    return sources(names, stdin, notify, inputs.exclude, reading, as_in_folder=as_in_folder, builds=True)


def entries(
    inputs: Inputs, read: Callable[[Input], Iterable[Entry]], found: Iterable[Found]
) -> Iterator[Entry | Unread | Diagnostic]:
    """Yield all entries in order, and at the end an error for each input that holds nothing and should.

    The output of another command without a document is an error, since the command has probably failed. A file or
    folder may be empty unless all inputs are, or a check of nothing would pass. A list without items is a document.
    With `force_exclude`, another tool has chosen the files, and all of them may be empty or skipped.
    """
    empty: list[str] = []
    unread: Counter[str] = Counter()
    all_empty = True
    for one in found:
        has_document = False
        for entry in read(one) if isinstance(one, Source | Builds) else (one,):
            has_document = True
            if isinstance(entry, Unread):
                unread[entry.reason] += 1
            else:
                all_empty = False
            yield entry
        if not isinstance(one, Source):
            continue
        if not has_document:
            has_document = next(documents("", one.data), None) is not None
            all_empty = all_empty and not has_document
        if not has_document and one.first_line == 1:
            empty.append(one.file)
        elif has_document and empty and empty[-1] == one.file:
            empty.pop()  # a later section holds something
    for file in empty:
        if is_pipe(file):
            yield Diagnostic(file, 0, 0, _EMPTY_INPUT if file == STDIN else _EMPTY_PIPE)
        elif all_empty and not inputs.force_exclude:
            yield Diagnostic(file, 0, 0, _EMPTY_FILE if len(inputs.names) == 1 else _EMPTY_FILES)
    if all_empty and unread and not empty and not inputs.force_exclude:
        nowhere = "no object here" if len(inputs.names) == 1 else "no object here, nor in any other input"
        yield Diagnostic(inputs.names[0], 0, 0, f"{nowhere}; not read: {tallied(unread.most_common())}")


_EMPTY_INPUT = "standard input holds no object; did the command before the pipe fail?"
_EMPTY_PIPE = "this pipe holds no object; did the command that writes it fail?"
_EMPTY_FILE = "no object in this file"
_EMPTY_FILES = "no object in this file, nor in any other input"
