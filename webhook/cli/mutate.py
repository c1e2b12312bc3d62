"""`mutate`: objects with the edits of the webhook. Standard output carries data only."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from webhook.cli.options import ManifestCommand, Output, manifest_options, outputs_option, read_standard_input_once
from webhook.cli.output import LINKED, STDOUT, Write, beside, destinations, notify, paint, show, tell
from webhook.cli.source import SettingsSource, chosen, source_options
from webhook.diagnostics import Diagnostic, InputError, Listing, Unread, tallied
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.inputs import Inputs, applied
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import STDIN, Manifest, is_pipe
from webhook.manifests.files import UNKNOWN, reason_of
from webhook.policy.injections.injection import OFF
from webhook.policy.verdict import MOST_EDITS, Severity
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted
from webhook.report.mutate import MutateFormat
from webhook.report.mutation import Destination, Medium, MutationWriter
from webhook.report.rewrite import EditedFile, Mutation, rewrite
from webhook.report.rewrite import applied as with_splices
from webhook.report.tally import LeftUnread


@click.command(name="mutate", cls=ManifestCommand)
@manifest_options
@source_options
@outputs_option(
    MutateFormat.YAML, "The edited objects as YAML or JSON, a diff of the files, or the edits as JSON Patch."
)
@click.option(
    "--write",
    "in_place",
    is_flag=True,
    help="Write the edits into the files. Standard output stays empty, unless -o is given.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no summary and no notes on standard error.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Name on standard error what is not injected, and why, unless it is off by default.",
)
def command(
    inputs: Inputs,
    source: SettingsSource,
    outputs: tuple[Output[MutateFormat], ...],
    in_place: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Print manifests with the edits that the webhook makes.

    Edits of a workload go into its pod template, to show what its pods will be; in a cluster the webhook edits pods
    only. Denied objects are left out and named on standard error. Several objects are printed as a stream of YAML
    documents, or as one List in JSON. The diff applies to the files: with `git apply`, or with `patch -p1`.

    \b
    Examples:
      gpushare-webhook mutate pod.yaml | kubectl apply -f -
      gpushare-webhook mutate manifests/ -o diff | git apply
      gpushare-webhook mutate manifests/ --write
    """
    files = InPlace() if in_place else None
    if files is not None:
        for name in inputs.names:
            if name in ("-", STDIN) or is_pipe(name):
                what = "standard input" if name in ("-", STDIN) else "a pipe"
                raise click.UsageError(f"--write edits files, and cannot edit {what}; name files and folders")
        if click.get_current_context().get_parameter_source("outputs") is not ParameterSource.COMMANDLINE:
            outputs = ()
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    read = chosen(source)
    evaluator = OfflineEvaluator.of(read.settings, read.facts)
    written = _write_edits(inputs, evaluator, outputs, files, is_quiet=quiet, is_verbose=verbose)
    if not quiet:
        is_described = read.file or source.config or source.cluster
        if not is_described and read.facts.runtime_classes is None and written.adds_runtime_class:
            tell(
                f'note: RuntimeClass "{read.settings.injections.runtime_class.name}" must exist in the cluster, or the '
                "API server rejects the pods; see --context, --facts and injections.runtimeClass.enabled"
            )
        if written.only_reported:
            tell(
                "note: the settings only report some injections, so that the webhook does not make these edits; "
                "see injections.mode"
            )
        tell(written.summary())
        if files is not None:
            tell(files.summary(written.files))
    sys.exit(written.exit_code)


def _write_edits(
    inputs: Inputs,
    evaluator: OfflineEvaluator,
    outputs: Sequence[Output[MutateFormat]],
    files: InPlace | None,
    *,
    is_quiet: bool,
    is_verbose: bool,
) -> Edits:
    """Write the edits of all inputs to the outputs, and into the files. Raises InputError."""
    with destinations([output.file for output in outputs]) as writes:
        parts = [(one.format.writer(_destination(one.file)), write) for one, write in zip(outputs, writes, strict=True)]
        if files is not None:
            parts.append((files, show))
        written = Edits(parts, is_quiet=is_quiet, is_verbose=is_verbose)
        written.write(
            evaluate(one, evaluator, inputs.namespace) if isinstance(one, Manifest) else one
            for one in applied(inputs, notify)
        )
    return written


def _explain(checked: Evaluated) -> None:
    """Name what the webhook does not inject into the object, and why."""
    place = f"{checked.manifest.file}:{checked.manifest.line}: {checked.subject}"
    if checked.verdict.reason:
        tell(f"{place}: {checked.verdict.reason}")
    for name, why in checked.verdict.withheld:
        if why != OFF or name not in _opt_in():
            tell(f"{place}: {name} is not injected: {why}")
    for name in checked.verdict.reported:
        tell(f"{place}: {name} is not injected: it is only reported, see injections.mode")


@cache
def _opt_in() -> frozenset[str]:
    """Return the names of the injections that are off by default: that they are off needs no explanation."""
    from webhook.settings.configuration import Configuration, view

    sections = view(Configuration())["injections"].items()
    return frozenset(name for name, section in sections if isinstance(section, dict) and not section["enabled"])


class Edits:
    """Writes edited objects in each format. Names on standard error what is left out, and counts all."""

    def __init__(self, parts: Sequence[tuple[MutationWriter, Write]], *, is_quiet: bool, is_verbose: bool) -> None:
        self._parts = parts
        self._is_quiet = is_quiet
        self._is_verbose = is_verbose
        self.files: set[str] = set()
        self._reported: set[Diagnostic] = set()
        self._listing = Listing()
        self.unread = LeftUnread()
        self._counts = dict.fromkeys(("edited", "unchanged", "denied"), 0)
        self.errors = 0
        self.adds_runtime_class = self.only_reported = False

    def write(self, entries: Iterable[Evaluated | Diagnostic | Unread]) -> None:
        """Write the objects, those of a file together. Raises InputError if a file cannot be written."""
        for _, made in groupby(self._edited(entries), lambda mutation: id(mutation.manifest.within.raw)):
            edited = EditedFile(list(made))
            for writer, write in self._parts:
                self._take(writer.file(edited), write)
        for writer, write in self._parts:
            self._take(writer.end(), write)
        tell(*map(str, self._listing.end()))

    def _edited(self, entries: Iterable[Evaluated | Diagnostic | Unread]) -> Iterator[Mutation]:
        """Yield the objects with their edits. Name those that are denied or cannot be edited."""
        for entry in entries:
            if isinstance(entry, Diagnostic):
                self._refuse(entry)
                continue
            if isinstance(entry, Unread):
                self.unread.add(entry)
                continue
            manifest, verdict = entry.manifest, entry.verdict
            self.files.add(manifest.file)
            self.only_reported |= bool(verdict.reported)
            if entry.is_denied:
                self._counts["denied"] += 1
                for finding in entry.result().findings:
                    if finding.severity is Severity.DENY:
                        tell(f"{finding.at(manifest.file)}: {entry.subject} is denied: {finding}")
                        tell(f"    remedy: {finding.remedy}")
            elif verdict.too_many_edits:
                message = f"{entry.subject} needs more than {MOST_EDITS} edits, so the webhook makes none"
                self._refuse(manifest.diagnostic((), message))
            else:
                self.adds_runtime_class |= "runtimeClass" in verdict.injected
                made = mutation(entry)
                self._counts["edited" if made.operations else "unchanged"] += 1
                yield made
            if self._is_verbose:
                _explain(entry)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.WRONG_INPUT if self.errors else ExitCode.DENIED if self._counts["denied"] else ExitCode.OK

    def summary(self) -> str:
        named = tallied(self._counts.items())
        parts = [counted(sum(self._counts.values()), "object") + (f": {named}" if named else "")]
        if self.unread:
            parts.append(str(self.unread))
        if self.errors:
            parts.append(counted(self.errors, "error"))
        return "; ".join(parts)

    def _take(self, pieces: Iterator[str | Diagnostic], write: Write) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                write(piece)
            elif piece not in self._reported:
                self._reported.add(piece)  # two diffs of one run have the same failures
                if piece.errors or not self._is_quiet:
                    self._refuse(piece)

    def _refuse(self, problem: Diagnostic) -> None:
        self.errors += problem.errors
        tell(*map(str, self._listing.add(problem)))


def _destination(file: str) -> Destination:
    if file != STDOUT:
        return Destination()
    return Destination(Medium.TERMINAL if sys.stdout.isatty() else Medium.STREAM, paint(sys.stdout))


def mutation(checked: Evaluated) -> Mutation:
    """Return an object that is not denied, with its edits."""
    operations = checked.operations()

    def patch(value: Any, above: str) -> Any:
        import jsonpatch

        # A copy by jsonpatch would keep what aliases share, and an edit of one place would show in all.
        placed = [{**operation, "path": above + operation["path"]} for operation in operations]
        return jsonpatch.apply_patch(value, placed, in_place=True)

    return Mutation(checked.manifest, checked.subject, operations, patch)


class InPlace(MutationWriter):
    """Writes the edits of each file into the file. A file that has several names is written once."""

    def __init__(self) -> None:
        self._links: dict[str, tuple[Diagnostic, ...]] = {}
        self._written: set[str] = set()
        self._failed: set[str] = set()

    def file(self, edited: EditedFile) -> Iterator[str | Diagnostic]:
        file, data = edited.name, edited.data
        place = os.path.realpath(file)
        if place in self._written:
            return
        rewritten = list(rewrite(data, edited.mutations))
        for failure in (failure for one in rewritten for failure in one.failures("not edited")):
            self._failed.add(place)
            yield failure
        splices = [splice for one in rewritten for splice in one.splices]
        if not splices:
            return
        try:
            replace_content(file, data, with_splices(data, splices))
            self._written.add(place)
        except InputError as error:
            if Path(file).is_symlink():
                self._links.setdefault(place, error.diagnostics)
                return
            self._failed.add(place)
            yield from error.diagnostics

    def end(self) -> Iterator[str | Diagnostic]:
        """Report the links whose file the run has not written under its own name."""
        for place, diagnostics in self._links.items():
            if place not in self._written:
                self._failed.add(place)
                yield from diagnostics

    def summary(self, files: set[str]) -> str:
        """Return how many of the files with objects were written, and how many keep their text."""
        places = {os.path.realpath(file) for file in files}
        failed = self._failed - self._written
        unchanged = len(places) - len(self._written) - len(failed)
        left = f", {len(failed)} not written" if failed else ""
        return f"{counted(len(self._written), 'file')} written, {unchanged} unchanged{left}"


def replace_content(name: str, old: bytes, new: bytes) -> None:
    """Replace the content of a file that holds `old`, and keep its mode and, where possible, its owner.

    The new content goes to a file beside it, which is renamed: no error, interrupt, SIGTERM, SIGHUP or full disk leaves
    half a file. Another hard link of the file keeps the old content. Raises InputError.
    """
    if UNKNOWN in name:
        why = "its path has U+FFFD, which stands for bytes that are not UTF-8; rename the file or folder"
        raise InputError.of(name, f"cannot be written: {why}")
    try:
        _refuse_links(name)
        with ExitStack() as leftovers:
            _replace(Path(name), old, new, leftovers)
    except (OSError, ValueError) as error:
        raise InputError.of(name, f"cannot be written: {reason_of(error)}") from None


def _refuse_links(name: str) -> None:
    """Raise ValueError for a link on a path, which may lead out of the files that the user means to edit.

    A repository may hold such a link, and a pattern of the shell reaches what is behind it. Links count below the
    highest folder of the path that is the working directory or holds `.git`: that folder may be a link, and so may
    those above it, which its content cannot change. Without such a folder, links count everywhere but in `/`, where
    the system has its own, such as `/tmp` on macOS.
    """
    path = Path.cwd() / name
    steps = [*reversed(path.parents), path]
    here = Path().stat()
    tops = (
        index
        for index, folder in enumerate(steps[:-1])
        if os.path.samestat(folder.stat(), here) or os.path.lexists(folder / ".git")
    )
    if any(step.is_symlink() for step in steps[next(tops, 1) + 1 :]):
        raise ValueError(LINKED)


def _replace(place: Path, old: bytes, new: bytes, leftovers: ExitStack) -> None:
    before = place.lstat()
    if not stat.S_ISREG(before.st_mode):
        raise ValueError("not a regular file")
    if place.read_bytes() != old:
        raise ValueError(_CHANGED)
    new_place = beside(place, leftovers)
    # No other user may read the content before the file has its mode.
    descriptor = os.open(new_place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "wb") as stream:
        own = os.fstat(descriptor)
        if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.fchown(descriptor, before.st_uid, before.st_gid)
            except OSError:  # the user may at least keep the group
                with suppress(OSError):
                    os.fchown(descriptor, -1, before.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
        stream.write(new)
        stream.flush()
        os.fsync(descriptor)
    after = place.lstat()
    if (after.st_dev, after.st_ino, after.st_mtime_ns) != (before.st_dev, before.st_ino, before.st_mtime_ns):
        raise ValueError(_CHANGED)
    new_place.replace(place)


_CHANGED = "it has changed since it was read; run the command again"
