"""`why`: the cause for which a pod or workload waits, fails, or runs without MPS."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

import click

from webhook.cli.asked import AnswerFormat, Asked, World, answer, asked_options, write
from webhook.cli.cluster_options import Cluster
from webhook.cli.extras import require
from webhook.cli.options import complete_files, file_option, format_option, read_standard_input_once
from webhook.cli.screen import notify
from webhook.cluster.objects import Objects
from webhook.diagnostics import Diagnostic, InputError
from webhook.dryrun.files import chosen_settings, read_facts, settings_file
from webhook.dryrun.inputs import Inputs, applied
from webhook.live.saved import SavedObjects
from webhook.live.why.cause import Why
from webhook.live.why.decide import why
from webhook.live.why.gather import KINDS, Question
from webhook.live.why.names import KindError, kind_of, lookup, nearest, topmost
from webhook.live.why.reading import Object
from webhook.manifests import Manifest
from webhook.policy.messages import printable
from webhook.policy.placement.facts import Facts
from webhook.policy.settings.settings import Settings


class Named(NamedTuple):
    """The object of the question. `name` is empty where the files hold one object alone."""

    kind: str
    name: str


@click.command(name="why")
@click.argument("words", metavar="[[TYPE/]NAME]", nargs=-1)
@click.option(
    "-f",
    "--filename",
    "files",
    metavar="FILE|DIR|-",
    shell_complete=complete_files,
    multiple=True,
    help="Saved objects, such as the pod and its events, in place of a cluster. Repeatable.",
)
@file_option("--facts", help="The facts file, for saved objects.")
@click.option("--logs", is_flag=True, help="Also read the last lines of the container's log.")
@asked_options
@format_option(AnswerFormat.TEXT, "The format.")
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    facts: str | None,
    logs: bool,
    asked: Asked,
    output: AnswerFormat,
) -> None:
    """Say why a pod or workload waits, fails, or runs without MPS.

    The first line is the cause, and the line "do:" the command or edit that helps. TYPE is pod unless you name
    another: deployment, replicaset, statefulset, daemonset, job or cronjob, or a short name that kubectl knows.

    \b
    Examples:
      kubectl gpushare why train-0
      kubectl gpushare why deployment/inference -n team-a --logs
      gpushare-webhook why -f pod.yaml -f events.yaml --facts facts.yaml
    """
    named = _named(words)
    if asked.selector:
        raise click.UsageError("-l: name one object instead")
    if files:
        _of_files(named, files, facts, asked, output, logs=logs)
        return
    if facts is not None:
        raise click.UsageError("--facts belongs to saved objects; add -f FILE, or leave it out")
    if not named.name:
        raise click.UsageError("name a pod or workload, such as train-0 or deployment/inference")
    require("cluster", 'the command "why" without -f')

    async def question(world: World) -> Why:
        found = await _found(world.objects, named, asked)
        asks = Question(world.objects, world.settings, world.more, wants_log=logs)
        return why(await asks.case(named.kind, asked.namespace or "", found))

    answer(asked, output, question, parts=())


def _named(words: tuple[str, ...]) -> Named:
    """The kind and name in TYPE/NAME, TYPE NAME or NAME. Raises UsageError."""
    if len(words) > 2 or (len(words) == 2 and "/" in "".join(words)):
        raise click.UsageError("name one object, such as train-0 or deployment/inference")
    kind, _, name = words[0].rpartition("/") if len(words) == 1 else ("", "", "")
    if len(words) == 2:
        kind, name = words
    try:
        return Named(kind_of(kind or "pod"), name)
    except KindError as error:
        raise click.UsageError(str(error)) from None


async def _found(objects: Objects, named: Named, asked: Asked) -> Object:
    """The object in the cluster. Raises InputError."""
    kind, namespace = KINDS[named.kind], asked.namespace
    found = await lookup(objects, kind, namespace, named.name)
    if found is not None:
        return found
    wanted = f"{kind.name} {printable(named.name)}"
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    if namespace is None and objects.lacks(kind):
        raise _error(asked.cluster, f"{wanted} cannot be found: {objects.left_out[-1].why}")
    if namespace is not None and objects.hides(kind, namespace, named.name):
        raise _error(asked.cluster, f"{wanted} cannot be read: {objects.left_out[-1].why}")
    remedy = await nearest(objects, kind, namespace, named.name)
    raise _error(asked.cluster, f"{wanted} does not exist {where}; {remedy or 'check the name, or name -n or -A'}")


def _error(where: object, message: str) -> InputError:
    return InputError([Diagnostic(str(where), 0, 0, message)])


def _of_files(
    named: Named, files: tuple[str, ...], facts: str | None, asked: Asked, output: AnswerFormat, *, logs: bool
) -> None:
    """Answer the question from saved objects. Raises InputError and UsageError."""
    if asked.cluster != Cluster():
        raise click.UsageError("-f answers from files, without a cluster; leave out the options of a cluster")
    if logs:
        raise click.UsageError("--logs reads from a cluster; leave out -f")
    read_standard_input_once(f=files, facts=facts)
    settings = _settings()
    known = read_facts(facts, settings)
    objects = SavedObjects(_objects(files))
    try:
        kind, found = topmost(objects, named.kind, named.name, asked.namespace)
    except LookupError as error:
        raise _error(printable(files[0]), str(error)) from None

    async def more(_parts: Collection[str]) -> Facts:
        return known

    question = Question(objects, settings, more)
    write(why(asyncio.run(question.case(kind, "", found))), objects.left_out, output)


def _settings() -> Settings:
    """The settings that apply to files here. Raises InputError."""
    file = settings_file(None)
    settings, _ = chosen_settings(None if file is None else file.file, [])
    return settings


def _objects(files: tuple[str, ...]) -> list[Object]:
    """The objects of the files. Raises InputError."""
    found, errors = [], []
    for one in applied(Inputs(files, (), False, ""), notify):
        if isinstance(one, Manifest):
            found.append(one.value)
        elif isinstance(one, Diagnostic):
            errors.append(one)
    if errors:
        raise InputError(errors)
    return found
