"""`mutate`: objects with the edits of the webhook. Standard output carries data only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import click
from click.core import ParameterSource

from webhook.cli.evaluator import SettingsSource, chosen, source_options
from webhook.cli.in_place import InPlace, require_files
from webhook.cli.options import (
    ManifestCommand,
    Output,
    manifest_options,
    outputs_option,
    read_standard_input_once,
)
from webhook.cli.outputs import STDOUT, Write, destinations
from webhook.cli.screen import notify, paint, show, tell
from webhook.diagnostics import Diagnostic, Listing, Unread
from webhook.dryrun.evaluation import Evaluated, evaluate
from webhook.dryrun.inputs import Inputs, applied
from webhook.manifests import Manifest
from webhook.patch import Operation
from webhook.policy.evaluate import Evaluator
from webhook.policy.injections.injection import OFF
from webhook.policy.verdict import MOST_EDITS, Severity
from webhook.report.exit_codes import ExitCode
from webhook.report.lines import counted
from webhook.report.mutate import MutateFormat
from webhook.report.mutation_writer import Destination, Medium, Mutation, MutationWriter
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
        require_files("--write", inputs.names)
        if click.get_current_context().get_parameter_source("outputs") is not ParameterSource.COMMANDLINE:
            outputs = ()
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    read = chosen(source)
    evaluator, settings_file = read.evaluator(), read.file
    written = _write_edits(inputs, evaluator, outputs, files, is_quiet=quiet, is_verbose=verbose)
    if not quiet:
        is_described = settings_file or source.config or source.cluster
        if not is_described and evaluator.ruleset.facts.runtime_classes is None and written.adds_runtime_class:
            tell(_must_exist(evaluator.ruleset.settings.injections.runtime_class.name))
        if written.only_reported:
            tell(_REPORTED)
        tell(written.summary())
        if files is not None:
            tell(files.summary(written.files))
    sys.exit(written.exit_code)


def _write_edits(
    inputs: Inputs,
    evaluator: Evaluator,
    outputs: Sequence[Output[MutateFormat]],
    files: InPlace | None,
    *,
    is_quiet: bool,
    is_verbose: bool,
) -> Edits:
    """Write the edits of all inputs to the outputs, and into the files. Raises InputError."""
    with destinations([one.file for one in outputs]) as writes:
        parts = [(one.format.writer(_destination(one.file)), write) for one, write in zip(outputs, writes, strict=True)]
        if files is not None:
            parts.append((files, show))
        written = Edits(parts, is_quiet=is_quiet)
        for manifest in applied(inputs, notify):
            if not isinstance(manifest, Manifest):
                written.add(manifest)
                continue
            checked = evaluate(manifest, evaluator, inputs.namespace)
            written.add(checked)
            if is_verbose and isinstance(checked, Evaluated):
                _explain(checked)
        written.end()
    return written


_REPORTED = (
    "note: the settings only report some injections, so that the webhook does not make these edits; see injections.mode"
)


def _must_exist(name: str) -> str:
    return (
        f'note: RuntimeClass "{name}" must exist in the cluster, or the API server rejects the pods; '
        "see --context, --facts and injections.runtimeClass.enabled"
    )


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
    from webhook.settings.configuration import default, view

    sections = view(default())["injections"].items()
    return frozenset(name for name, section in sections if isinstance(section, dict) and not section["enabled"])


class Edits:
    """Writes edited objects in each format. Names on standard error what is left out, and counts all."""

    __slots__ = (
        "_is_quiet",
        "_listing",
        "_parts",
        "_reported",
        "adds_runtime_class",
        "denied",
        "edited",
        "errors",
        "files",
        "only_reported",
        "unchanged",
        "unread",
    )

    def __init__(self, parts: Sequence[tuple[MutationWriter, Write]], *, is_quiet: bool) -> None:
        self._parts = parts
        self._is_quiet = is_quiet
        self.files: set[str] = set()
        self._reported: set[Diagnostic] = set()
        self._listing = Listing()
        self.unread = LeftUnread()
        self.edited = self.unchanged = self.denied = self.errors = 0
        self.adds_runtime_class = self.only_reported = False

    def add(self, checked: Evaluated | Diagnostic | Unread) -> None:
        """Write an object, or name it if it is denied or cannot be edited. Raises InputError."""
        if isinstance(checked, Diagnostic):
            self._refuse(checked)
        elif isinstance(checked, Unread):
            self.unread.add(checked)
        else:
            self.files.add(checked.manifest.file)
            self._add(checked)

    def _add(self, checked: Evaluated) -> None:
        self.only_reported = self.only_reported or bool(checked.verdict.reported)
        if checked.is_denied:
            self.denied += 1
            _tell_denial(checked)
        elif checked.has_too_many_edits:
            message = f"{checked.subject} needs more than {MOST_EDITS} edits, so the webhook makes none"
            self._refuse(checked.manifest.diagnostic((), message))
        else:
            self._write(mutation(checked))

    def end(self) -> None:
        """Write what remains. Raises InputError if a file cannot be written."""
        for writer, write in self._parts:
            self._take(writer.end(), write)
        tell(*map(str, self._listing.end()))

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.WRONG_INPUT if self.errors else ExitCode.DENIED if self.denied else ExitCode.OK

    def summary(self) -> str:
        counts = {"edited": self.edited, "unchanged": self.unchanged, "denied": self.denied}
        objects = sum(counts.values())
        named = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        parts = [counted(objects, "object") + (f": {named}" if named else "")]
        if self.unread:
            parts.append(str(self.unread))
        if self.errors:
            parts.append(counted(self.errors, "error"))
        return "; ".join(parts)

    def _write(self, mutation: Mutation) -> None:
        if mutation.operations:
            self.edited += 1
            self.adds_runtime_class = self.adds_runtime_class or any(map(_adds_runtime_class, mutation.operations))
        else:
            self.unchanged += 1
        for writer, write in self._parts:
            self._take(writer.add(mutation), write)

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


def _adds_runtime_class(operation: Operation) -> bool:
    return str(operation["path"]).endswith("/runtimeClassName")


def _destination(file: str) -> Destination:
    folder = str(Path.cwd())
    if file != STDOUT:
        return Destination(Medium.FILE, folder=folder)
    medium = Medium.TERMINAL if sys.stdout.isatty() else Medium.STREAM
    return Destination(medium, paint(sys.stdout), folder)


def _tell_denial(checked: Evaluated) -> None:
    for located in checked.result().findings:
        finding = located.finding
        if finding.severity is Severity.DENY:
            tell(f"{located.at(checked.manifest.file)}: {checked.subject} is denied: {located}")
            tell(f"    remedy: {finding.remedy}")


def mutation(checked: Evaluated) -> Mutation:
    """Return an object that is not denied, with its edits."""
    operations = checked.operations()
    return Mutation(checked.manifest, checked.subject, operations, partial(_edited, checked.manifest, operations))


def _edited(manifest: Manifest, operations: list[Operation]) -> object:
    import jsonpatch

    # A copy by jsonpatch would keep what aliases share, and an edit of one place would show in all.
    return jsonpatch.apply_patch(manifest.unshared(), operations, in_place=True)
