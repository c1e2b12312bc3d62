"""`mutate`: objects with the edits of the webhook. Standard output carries data only."""

from __future__ import annotations

import sys
from functools import cache

import click

from webhook.cli.editing import edits
from webhook.cli.evaluation import Evaluated, evaluate
from webhook.cli.evaluator import Source, prepared, source_options
from webhook.cli.inputs import applied
from webhook.cli.options import (
    Inputs,
    ManifestCommand,
    Output,
    manifest_options,
    outputs_option,
    read_standard_input_once,
)
from webhook.cli.screen import tell
from webhook.manifests import Manifest
from webhook.policy.injections.injection import OFF
from webhook.report.mutate import MutateFormat


@click.command(name="mutate", cls=ManifestCommand)
@manifest_options
@source_options
@outputs_option(
    MutateFormat.YAML, "The edited objects as YAML or JSON, a diff of the files, or the edits as JSON Patch."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no summary on standard error.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Name on standard error what is not injected, and why, unless it is off by default.",
)
def command(
    inputs: Inputs, source: Source, outputs: tuple[Output[MutateFormat], ...], quiet: bool, verbose: bool
) -> None:
    """Print manifests with the edits that the webhook makes.

    Edits of a workload go into its pod template, to show what its pods will be; in a cluster the webhook edits pods
    only. Denied objects are left out and named on standard error. Several objects are printed as a stream of YAML
    documents, or as one List in JSON. The diff applies to the files: with `git apply`, or with `patch -p1`.

    \b
    Examples:
      gpushare-webhook mutate pod.yaml | kubectl apply -f -
      gpushare-webhook mutate manifests/ -o diff | git apply
    """
    read_standard_input_once(f=inputs.names, config=source.config, facts=source.facts)
    evaluator = prepared(source).evaluator
    with edits(outputs) as written:
        for manifest in applied(inputs):
            if not isinstance(manifest, Manifest):
                written.add(manifest)
                continue
            checked = evaluate(manifest, evaluator, inputs.namespace)
            written.add(checked)
            if verbose and isinstance(checked, Evaluated):
                _explain(checked)
        written.end()
    if not quiet:
        tell(written.summary())
    sys.exit(written.exit_code)


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
