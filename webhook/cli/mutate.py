"""`mutate`: objects with the edits of the webhook. Standard output carries data only."""

from __future__ import annotations

import sys
from functools import cache, partial

import click

from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.inputs import manifests
from webhook.cli.options import Inputs, Output, manifest_options, outputs_option, read_standard_input_once
from webhook.cli.outputs import STDOUT, destinations
from webhook.cli.screen import paint, tell
from webhook.diagnostics import Diagnostic, Unread
from webhook.manifests import Manifest
from webhook.patch import Operation
from webhook.policy.injections.injection import OFF
from webhook.policy.verdict import MOST_EDITS, Severity
from webhook.report.exit_codes import ExitCode
from webhook.report.mutate import MutateFormat
from webhook.report.mutation import Mutation
from webhook.report.paint import plain


@click.command(name="mutate")
@manifest_options
@source_options
@outputs_option(MutateFormat.JSON, "The edited objects, the edits as JSON Patch, or a diff.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Name on standard error what is not injected, and why, unless it is off by default.",
)
def command(inputs: Inputs, source: Source, outputs: tuple[Output[MutateFormat], ...], verbose: bool) -> None:
    """Print manifests with the edits that the webhook makes.

    Edits of a workload go into its pod template, to show what its pods will be; in a cluster the webhook edits pods
    only. Denied objects are left out and named on standard error. Several objects are printed as one List.

    \b
    Examples:
      gpushare-webhook mutate -f pod.yaml -o diff
      gpushare-webhook mutate -f pod.yaml | kubectl apply -f -
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    evaluator = prepared(source).evaluator
    mutations: list[Mutation] = []
    code = ExitCode.OK
    for manifest in manifests(inputs):
        if isinstance(manifest, Unread):
            continue
        checked = manifest if isinstance(manifest, Diagnostic) else evaluate(manifest, evaluator, inputs.namespace)
        if isinstance(checked, Diagnostic):
            tell(str(checked))
            code = ExitCode.WRONG_INPUT
        elif checked.is_denied:
            _report_denial(checked)
            code = max(code, ExitCode.DENIED)
        elif checked.has_too_many_edits:
            place = f"{checked.manifest.file}:{checked.manifest.line}"
            tell(f"{place}: {checked.subject} needs more than {MOST_EDITS} edits, so the webhook makes none")
            code = ExitCode.WRONG_INPUT
        else:
            mutations.append(_mutation(checked))
        if verbose and isinstance(checked, Evaluated):
            _explain(checked)
    with destinations([one.file for one in outputs]) as writes:
        for one, write in zip(outputs, writes, strict=True):
            for piece in one.format.to_format(paint(sys.stdout) if one.file == STDOUT else plain)(mutations):
                write(piece)
    sys.exit(code)


def _report_denial(checked: Evaluated) -> None:
    for located in checked.result().findings:
        finding = located.finding
        if finding.severity is Severity.DENY:
            tell(f"{located.at(checked.manifest.file)}: {checked.subject} is denied: {located}")
            tell(f"    remedy: {finding.remedy}")


def _explain(checked: Evaluated) -> None:
    """Name what the webhook does not inject into the object, and why."""
    place = f"{checked.manifest.file}:{checked.manifest.line}: {checked.subject}"
    if checked.verdict.reason:
        tell(f"{place}: {checked.verdict.reason}")
    for name, why in checked.verdict.withheld:
        if why != OFF or name not in _opt_in():
            tell(f"{place}: {name} is not injected: {why}")


@cache
def _opt_in() -> frozenset[str]:
    """Return the names of the injections that are off by default: that they are off needs no explanation."""
    from webhook.settings.configuration import default, view

    return frozenset(name for name, section in view(default())["injections"].items() if not section["enabled"])


def _mutation(checked: Evaluated) -> Mutation:
    manifest, operations = checked.manifest, checked.operations()
    edited = partial(_edited, manifest, operations)
    return Mutation(manifest.file, manifest.document, checked.subject, manifest.value, operations, edited)


def _edited(manifest: Manifest, operations: list[Operation]) -> object:
    import jsonpatch

    # A copy by jsonpatch would keep what aliases share, and an edit of one place would show in all.
    return jsonpatch.apply_patch(manifest.unshared(), operations, in_place=True)
