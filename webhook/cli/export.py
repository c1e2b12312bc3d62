"""`export`: the policy in other forms than the webhook's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from webhook import __version__
from webhook.cli.evaluator import config_option, profile_option
from webhook.cli.options import file_option, read_standard_input_once, single_option
from webhook.cli.screen import show
from webhook.diagnostics import LINE
from webhook.dryrun.files import configuration, read_facts, settings_file
from webhook.policy.messages import printable
from webhook.policy.settings.formats import did_you_mean
from webhook.report.data import yaml_text
from webhook.settings.options import Option

if TYPE_CHECKING:
    from webhook.inprocess.export import Export
    from webhook.inprocess.facts_file import Known
    from webhook.inprocess.installation import Installation
    from webhook.policy.settings.settings import Settings

_FORMS = ("vap", "map")


@click.group(name="export")
def command() -> None:
    """Write the policy in the form of objects that the API server evaluates itself."""


def _forms(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    forms = tuple(value.split(","))
    unknown = next((form for form in forms if form not in _FORMS), None)
    if unknown is not None:
        raise click.BadParameter(f'there is no form "{printable(unknown)}"; choose from {", ".join(_FORMS)}')
    return forms


def _installation(_context: click.Context, _option: click.Parameter, value: str | None) -> Installation | None:
    from webhook.inprocess.installation import Installation
    from webhook.policy.settings.formats import NAMESPACED_NAME

    if value is None:
        return None
    if not NAMESPACED_NAME.allows(value):
        raise click.BadParameter(f"must be {NAMESPACED_NAME.description}")
    return Installation(*value.split("/"))


def _kinds(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    from webhook.inprocess.kinds import COVERED

    names = () if value is None else tuple(value.split(","))
    known = [one.kind.kind for one in COVERED]
    for name in names:
        if name not in known:
            remedy = did_you_mean(name, known) or "the header of an export without --kinds lists the others"
            raise click.BadParameter(f'no policy covers a kind "{printable(name)}"; {remedy}')
    return names


@command.command(name="policies")
@single_option(
    "--as",
    "forms",
    default="vap,map",
    metavar="FORMS",
    callback=_forms,
    help="vap for what is denied, warned of and recorded; map for what is injected.",
)
@single_option("--kinds", metavar="KINDS", callback=_kinds, help="Only these kinds, such as Pod,Deployment.")
@config_option
@profile_option
@single_option(
    "--installed-as",
    "installation",
    metavar="NAMESPACE/NAME",
    callback=_installation,
    help="The release with policies.enabled whose mode the policies obey. Without it, they always apply.",
)
@file_option("--facts", help="A facts file: the policies hold what it shows of nodes and runtime classes.")
@click.option("--static", is_flag=True, help="For the policy files of an API server instead of for kubectl.")
@click.option(
    "--strict", is_flag=True, help="Fail if the settings leave a code to the webhook that a policy can decide."
)
def policies(
    forms: Sequence[str],
    kinds: tuple[str, ...],
    config: str | None,
    profile: str | None,
    installation: Installation | None,
    facts: str | None,
    static: bool,
    strict: bool,
) -> None:
    """Write policies of the API server for the settings.

    The output is ValidatingAdmissionPolicies and MutatingAdmissionPolicies, with their bindings. The API server
    evaluates them itself: no webhook has to run. The text of a denial is the webhook's. A header lists the checks that
    the policies leave to the webhook, and why.

    \b
    Examples:
      gpushare-webhook export policies > policies.yaml
      gpushare-webhook export policies --as vap | kubectl apply -f -
      gpushare-webhook export policies --facts facts.yaml
    """
    from webhook.inprocess.export import Target, export
    from webhook.settings.configuration import view

    if static and installation is not None:
        raise click.UsageError("--static and --installed-as: policy files read no objects; leave out one")
    if facts is not None and installation is not None:
        raise click.UsageError("--facts and --installed-as: the webhook of a release knows the facts; leave out one")
    read_standard_input_once(config=config, facts=facts)
    file = settings_file(config)
    options = [] if profile is None else [Option("--profile", "", "profile", profile)]
    held = configuration(None if file is None else file.file, options)
    known = None if facts is None else _known(facts, held.settings)
    made = export(held.settings, view(held), Target(forms, installation, kinds, static, known))
    if strict and made.left:
        raise click.UsageError("; ".join(f"{one.code} is left to the webhook: {one.reason}" for one in made.left))
    of = "the default settings" if file is None else f"the settings of {file}"
    # The API server accepts no document of comments alone in a policy file.
    show(_header(made, of, facts) + "---\n".join(yaml_text(one) for one in made.objects))


def _known(file: str, settings: Settings) -> Known:
    from webhook.inprocess.facts_file import known
    from webhook.policy.evaluate import Evaluator

    return known(Evaluator.of(settings, read_facts(file, settings)).ruleset)


def _header(made: Export, of: str, facts: str | None) -> str:
    of += "" if facts is None else f" and the facts of {facts}"
    lines = [
        f"Policies of gpushare-webhook {__version__} for {of}.",
        "",
        f"They decide {', '.join(made.codes) or 'nothing'}, for {', '.join(made.kinds)}.",
        "They make the injections of new pods." if made.injects else "They inject nothing.",
        "They check no pod whose nodes are chosen later, such as one with scheduling gates.",
        *(
            ["They hold the facts: export them again when GPU nodes or runtime classes change."]
            if facts is not None
            else []
        ),
        "",
        "The webhook alone checks:",
        *(f"- {one.code}: {one.reason}" for one in made.left),
        f"- {', '.join(made.never)}: no policy expresses them",
        f"- {', '.join(made.other_kinds)}: their controllers assemble the pods",
    ]
    return "".join(f"# {printable(line, LINE)}".rstrip() + "\n" for line in lines)
