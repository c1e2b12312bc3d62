"""`check`: a verdict for every object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from webhook.cli.options import (
    LISTED,
    ManifestCommand,
    Output,
    file_option,
    manifest_options,
    option_group,
    outputs_option,
    read_standard_input_once,
    single_option,
)
from webhook.cli.output import STDOUT, Write, destinations, notify, paint, show, tell, width
from webhook.cli.source import RunSettings, SettingsSource, chosen, source_options
from webhook.diagnostics import Diagnostic
from webhook.dryrun.check import FirstPass, results
from webhook.dryrun.files import up_to_root
from webhook.dryrun.inputs import Inputs, found
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import in_sections
from webhook.policy.checks import CHECKS
from webhook.policy.messages import printable
from webhook.policy.placement.facts import NOTHING_SHOWN
from webhook.report.check import CheckFormat
from webhook.report.model import EVERYTHING, NO_EVIDENCE, Evidence, Selection
from webhook.report.tally import FailOn, Tally
from webhook.report.writer import Page, SourceTree, Writer

_CODES = [check.code for check in CHECKS]


def _codes(_context: click.Context, _option: click.Parameter, lists: tuple[str, ...]) -> frozenset[str]:
    """Return the codes of lists with commas. Raises BadParameter for a list without one, or for all unknown codes."""
    given: list[str] = []
    for codes in lists:
        parts = [code for part in codes.split(",") if (code := part.strip())]
        if not parts:
            raise click.BadParameter(f'"{printable(codes)}" names no check; name one, such as GPS001')
        given += parts
    if unknown := [code for code in dict.fromkeys(given) if code.upper() not in _CODES]:
        names = ", ".join(f'"{printable(code)}"' for code in unknown)
        raise click.BadParameter(f"there is no check {names}; {LISTED}")
    return frozenset(code.upper() for code in given)


def _checks_option(name: str, description: str) -> Callable[..., Any]:
    return click.option(name, metavar="CODES", multiple=True, callback=_codes, help=description)


def _selection(select: frozenset[str], ignore: frozenset[str]) -> Selection:
    options = tuple(option for option, codes in (("--select", select), ("--ignore", ignore)) if codes)
    if not options:
        return EVERYTHING
    remaining = (select or frozenset(_CODES)) - ignore
    if not remaining:
        raise click.UsageError(f"{' and '.join(options)}: no check remains; name other codes")
    left_out = tuple(code for code in _CODES if code not in remaining)
    return Selection(left_out, tuple(sorted(remaining)), options)


_selection_options = option_group(
    "selection",
    _selection,
    _checks_option("--select", "Run only these checks, such as GPS001,GPS002. Errors are always reported. Repeatable."),
    _checks_option("--ignore", "Do not make these checks, such as GPS009,GPS014. Applies after --select. Repeatable."),
)


@click.command(name="check", cls=ManifestCommand)
@manifest_options
@source_options
@_selection_options
@file_option("--baseline", help="Leave out the findings of an earlier report, which -o json=FILE has written.")
@click.option(
    "--no-facts-from-inputs",
    is_flag=True,
    help="Read no facts about the cluster from the manifests, for a change that you do not trust.",
)
@outputs_option(CheckFormat.TEXT, "The format of the report.")
@single_option(
    "--fail-on",
    type=click.Choice([choice.value for choice in FailOn]),
    default=FailOn.DENY.value,
    show_default=True,
    callback=lambda _context, _option, value: FailOn(value),
    help="Exit with 1 if an object is denied (deny), or also warned (warn), or a file or folder is hidden from the "
    "check (unread), or also an object skipped (skipped); or never. Errors always exit with 2.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print only the findings that deny an object or fail the run, and no summary, in the text report.",
)
def command(
    inputs: Inputs,
    source: SettingsSource,
    selection: Selection,
    baseline: str | None,
    no_facts_from_inputs: bool,
    outputs: tuple[Output[CheckFormat], ...],
    fail_on: FailOn,
    quiet: bool,
) -> None:
    """Check manifests as the webhook in the cluster would, with file and line.

    \b
    Examples:
      gpushare-webhook check pod.yaml
      kubectl kustomize overlays/production | gpushare-webhook check - -o json
      gpushare-webhook check manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts, baseline=baseline)
    accepted = None
    if baseline is not None:
        from webhook.dryrun.baseline import Baseline  # most runs have no baseline

        accepted = Baseline(baseline)
    settings, given = chosen(source, selection), found(inputs, in_sections, notify)
    first = (
        None if no_facts_from_inputs else FirstPass(given, (resource.name for resource in settings.settings.resources))
    )
    evaluator, names_sharing, evidence = _prepared(settings, first, inputs.namespace)
    tally = Tally(settings.file, selection, assumes_sharing=not names_sharing, evidence=evidence)
    rest = given if first is None else first.given()
    checked = results(inputs, evaluator, rest, None if accepted is None else accepted.suppress)
    with _reports(outputs, fail_on, quiet) as reports:
        for entry in checked:
            tally.add(entry)
            if isinstance(entry, Diagnostic):
                tell(str(entry))
            for writer, write in reports:
                if text := writer.add(entry):
                    write(text)
        for writer, write in reports:
            if text := writer.end(tally):
                write(text)
    sys.exit(tally.exit_code(fail_on))


def _prepared(chosen: RunSettings, first: FirstPass | None, namespace: str) -> tuple[OfflineEvaluator, bool, Evidence]:
    """Return the evaluator, whether anything says how GPUs are shared, and what the inputs of a first pass show.

    `namespace` is that of objects that name none.
    """
    facts, shown, evidence = chosen.facts, NOTHING_SHOWN, NO_EVIDENCE
    if first is not None and (first.has_words or first.gke):
        from webhook.dryrun.evidence import known_from  # most inputs show nothing

        known = known_from(first, chosen.settings, namespace, says_sharing=not chosen.names_sharing)
        if chosen.has_facts:  # to which inputs add what objects of namespaces say alone
            namespaces = known.facts.namespaces if facts.namespaces is None else facts.namespaces
            limits = known.facts.namespace_limits if facts.namespace_limits is None else facts.namespace_limits
            facts = replace(facts, namespaces=namespaces, namespace_limits=limits)
        else:
            facts, shown, evidence = known
    evaluator = OfflineEvaluator.of(chosen.settings, facts, shown)
    names_sharing = chosen.names_sharing or evaluator.snapshot.nodes.are_shown
    return evaluator if chosen.is_described else evaluator.undescribed(), names_sharing, evidence


@contextmanager
def _reports(
    outputs: Sequence[Output[CheckFormat]], fail_on: FailOn, is_quiet: bool
) -> Iterator[list[tuple[Writer, Write]]]:
    """Yield the reports, each with its destination. At the end, those that are data are put into place.

    A report for people on standard output appears line by line, and its lines fit the terminal. Raises InputError.
    """
    here = Path.cwd()
    page = Page(fail_on=fail_on, is_quiet=is_quiet, tree=SourceTree(str(up_to_root(here)[-1]), str(here)))
    screen = page._replace(paint=paint(sys.stdout), width=width() if sys.stdout.isatty() else None)
    live = [output for output in outputs if output.file == STDOUT and output.format is CheckFormat.TEXT]
    data = [output for output in outputs if output not in live]
    with destinations([one.file for one in data]) as writes:
        parts: list[tuple[Writer, Write]] = [(one.format.writer(screen), show) for one in live]
        yield parts + [(one.format.writer(page), write) for one, write in zip(data, writes, strict=True)]
