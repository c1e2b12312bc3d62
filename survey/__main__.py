"""`python -m survey`: check the manifests of a folder of repositories, and print what is found."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from survey import data, text
from survey.checked import FailedError, check
from survey.counts import Survey
from survey.mentions import named
from survey.repositories import repositories
from webhook.diagnostics import LINE, InputError
from webhook.dryrun.files import chosen_settings
from webhook.policy.messages import printable
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.report.exit_codes import ExitCode


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--config", metavar="FILE", help="The settings file of each check. Without it the defaults apply.")
@click.option("--sample", default=3, show_default=True, type=click.IntRange(0), help="How many places to list per row.")
@click.option("--limit", default=300.0, show_default=True, type=click.FloatRange(1), help="Seconds per repository.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every kind.")
def main(folder: Path, config: str | None, sample: int, limit: float, as_json: bool) -> None:
    """Run `check` over each repository in FOLDER, and count objects, findings, reasons and errors.

    A folder with manifests of its own, or with .git, is one repository.

    \b
    Exit codes:
      0    every repository has a report
      2    wrong usage or settings, or no manifest in FOLDER
      3    `check` crashed or took too long for a repository
    """
    options = () if config is None else ("--config", config)
    try:
        gpus = GpuResources(chosen_settings(config, ())[0].resources)
    except InputError as error:
        _tell(*map(str, error.diagnostics))
        sys.exit(ExitCode.WRONG_INPUT)
    survey = Survey(sample)
    for repository in repositories(folder):
        began = time.monotonic()
        try:
            survey.add(repository.name, check(repository, options, limit), named(repository, gpus))
        except FailedError as failed:
            survey.fail(repository.name, str(failed))
        _tell(f"{repository.name}: {survey.repositories[repository.name]} ({time.monotonic() - began:.1f} s)")
    print(data.write(survey) if as_json else text.write(survey), end="")
    sys.exit(_status(survey, folder))


def _status(survey: Survey, folder: Path) -> ExitCode:
    checked = survey.repositories.values()
    if any(one.failure for one in checked):
        return ExitCode.INTERNAL_ERROR
    if not any(one.objects.objects for one in checked):
        _tell(f"{folder}: no object in this folder; name a folder of repositories with manifests")
        return ExitCode.WRONG_INPUT
    return ExitCode.OK


def _tell(*lines: str) -> None:
    """Write lines to standard error."""
    for line in lines:
        print(printable(line, LINE), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
