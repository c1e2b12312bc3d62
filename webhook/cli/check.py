"""`check`: a verdict for every object."""

from __future__ import annotations

import sys

import click

from webhook.cli.evaluation import evaluate
from webhook.cli.inputs import evaluator_for, manifest_options, manifests, read_standard_input_once
from webhook.cli.screen import paint, show, tell
from webhook.report import Error, Report, as_json, as_text


@click.command(name="check")
@manifest_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format of the report.")
@click.option(
    "--fail-on",
    type=click.Choice(["deny", "warn"]),
    default="deny",
    help="Exit with 1 when something is denied, or when something is warned too.",
)
def command(
    filenames: tuple[str, ...],
    recursive: bool,
    namespace: str,
    config: str | None,
    facts: str | None,
    output: str,
    fail_on: str,
) -> None:
    """Say what the cluster would say of manifests, with file and line.

    \b
    Examples:
      gpushare-webhook check -f pod.yaml
      kustomize build . | gpushare-webhook check -f - -o json
      gpushare-webhook check -R -f manifests/ --config settings.yaml --fail-on warn
    """
    read_standard_input_once(f=filenames, config=config, facts=facts)
    evaluator = evaluator_for(config, facts)
    report = Report()
    for manifest in manifests(filenames, recursive):
        evaluated = manifest if isinstance(manifest, Error) else evaluate(manifest, evaluator, namespace)
        if isinstance(evaluated, Error):
            report.errors.append(evaluated)
            tell(str(evaluated))
        else:
            report.results.append(evaluated.result())
    show(as_json.write(report) if output == "json" else as_text.write(report, paint(sys.stdout)))
    sys.exit(report.exit_code(fail_on))
